"""Numbers of a quick experiment, to the bit. ``python -m tests.test_golden_results`` writes them again."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from latentbandits_studies.experiments.reproduce import reproduce

NAME = "many-arms"  # the smallest
GOLDEN = Path(__file__).parent / "golden" / f"{NAME}.parquet"


def rows() -> pd.DataFrame:
    """Run the experiment."""
    with TemporaryDirectory() as folder:
        reproduce([NAME], folder, "quick")
        return pd.read_parquet(Path(folder) / f"{NAME}.parquet")


def check_golden(computed: pd.DataFrame) -> None:
    """Check rows of the experiment against those on record."""
    golden = pd.read_parquet(GOLDEN)
    assert list(computed.columns) == list(golden.columns)
    for name in golden:
        if golden[name].dtype.kind == "f":
            np.testing.assert_allclose(computed[name], golden[name], rtol=1e-9, err_msg=name)
        else:
            assert computed[name].tolist() == golden[name].tolist(), name


def test_numbers_are_what_they_were() -> None:
    check_golden(rows())


if __name__ == "__main__":
    rows().to_parquet(GOLDEN, index=False)

"""The studies: the paper's experiments and our own, the theory, the datasets and the report.

They import `latentbandits`, never the reverse.

Examples
--------
>>> from latentbandits_studies.experiments.registry import experiment
>>> experiment("table2").id
'table2'
"""

-- Events are the only truth; everything else here can be made again from them.

CREATE TABLE experiment (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL UNIQUE,
    spec TEXT NOT NULL,           -- as of the head
    status TEXT NOT NULL,         -- as of the head
    head BIGINT NOT NULL,         -- seq of the last event
    epoch BIGINT NOT NULL,        -- of whoever may append
    salt BIGINT NOT NULL,         -- the ids of decisions count from it
    owner TEXT,                   -- who that is, until the lease ends
    address TEXT,                 -- where others reach it, null if they cannot
    lease_until TIMESTAMPTZ NOT NULL DEFAULT '-infinity'
);

CREATE TABLE event (
    experiment BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    kind TEXT NOT NULL,
    at_us BIGINT NOT NULL,        -- microseconds since 1970; never decreases
    decision BIGINT,              -- seq of the decision that it is about; 0: it is about none; null: it is one
    subject TEXT,
    arm BIGINT,
    decided_by TEXT,
    probability DOUBLE PRECISION,
    value DOUBLE PRECISION,
    actor TEXT,                   -- who did it
    body TEXT,                    -- JSON: what has no column
    scores BYTEA,                 -- of every arm: available, value, index, std_error, probability, as 32-bit numbers
    role SMALLINT,                -- what it is to that decision; each once, but for null
    PRIMARY KEY (experiment, seq),
    CHECK ((kind = 'decide') = (decision IS NULL))
);

CREATE UNIQUE INDEX event_about ON event (experiment, decision, role) WHERE decision IS NOT NULL;

CREATE TABLE request (            -- idempotency keys: which decision was the answer
    experiment BIGINT NOT NULL,
    idempotency_key TEXT COLLATE "C" NOT NULL,
    digest TEXT NOT NULL,
    seq BIGINT NOT NULL,
    at_us BIGINT NOT NULL,
    PRIMARY KEY (experiment, idempotency_key)
);

CREATE TABLE snapshot (
    experiment BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    build TEXT NOT NULL,
    digest TEXT NOT NULL,         -- of the state
    checksum TEXT NOT NULL,       -- of the bytes
    at_us BIGINT NOT NULL,
    state BYTEA NOT NULL,
    PRIMARY KEY (experiment, seq)
);

CREATE TABLE build (              -- what computes, from an event on: the same build repeats events to the bit
    experiment BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (experiment, seq)
);

CREATE TABLE minute (
    experiment BIGINT NOT NULL,
    minute BIGINT NOT NULL,       -- since 1970
    arm BIGINT NOT NULL,
    decided_by TEXT COLLATE "C" NOT NULL,
    decided BIGINT NOT NULL,
    probed BIGINT NOT NULL,
    rewarded BIGINT NOT NULL,
    expired BIGINT NOT NULL,
    censored BIGINT NOT NULL,
    late BIGINT NOT NULL,
    total DOUBLE PRECISION NOT NULL,    -- of rewards, and of their squares
    squares DOUBLE PRECISION NOT NULL,
    delay_us BIGINT NOT NULL,     -- from decisions to their rewards, summed
    PRIMARY KEY (experiment, minute, arm, decided_by)
);

CREATE TABLE belief (             -- at the end of every minute in which something happened
    experiment BIGINT NOT NULL,
    minute BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (experiment, minute)
);

CREATE TABLE api_key (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    scope TEXT NOT NULL,          -- JSON: names of experiments, null for all
    digest TEXT NOT NULL UNIQUE,  -- of the secret
    created_us BIGINT NOT NULL,
    created_by TEXT,
    revoked_us BIGINT,
    expires_us BIGINT             -- null for never
);

-- Events are the only truth; everything else here can be made again from them.

CREATE TABLE experiment (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    spec TEXT NOT NULL,           -- as of the head
    status TEXT NOT NULL,         -- as of the head
    head INTEGER NOT NULL,        -- seq of the last event
    epoch INTEGER NOT NULL,       -- of whoever may append
    salt INTEGER NOT NULL         -- the ids of decisions count from it
) STRICT;

CREATE TABLE event (
    experiment INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    kind TEXT NOT NULL,
    at_us INTEGER NOT NULL,       -- microseconds since 1970; never decreases
    decision INTEGER,             -- seq of the decision that it is about; 0: it is about none; null: it is one
    subject TEXT,
    arm INTEGER,
    decided_by TEXT,
    probability REAL,
    value REAL,
    actor TEXT,                   -- who did it
    body TEXT,                    -- JSON: what has no column
    scores BLOB,                  -- of every arm: available, value, index, std_error, probability, as 32-bit numbers
    role INTEGER,                 -- what it is to that decision; each once, but for null
    PRIMARY KEY (experiment, seq),
    CHECK ((kind = 'decide') = (decision IS NULL))
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX event_about ON event (experiment, decision, role) WHERE decision IS NOT NULL;

CREATE TABLE request (            -- idempotency keys: which decision was the answer
    experiment INTEGER NOT NULL,
    idempotency_key TEXT NOT NULL,
    digest TEXT NOT NULL,
    seq INTEGER NOT NULL,
    at_us INTEGER NOT NULL,
    PRIMARY KEY (experiment, idempotency_key)
) STRICT, WITHOUT ROWID;

CREATE TABLE snapshot (
    experiment INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    build TEXT NOT NULL,
    digest TEXT NOT NULL,         -- of the state
    checksum TEXT NOT NULL,       -- of the bytes
    at_us INTEGER NOT NULL,
    state BLOB NOT NULL,
    PRIMARY KEY (experiment, seq)
) STRICT;

CREATE TABLE build (              -- what computes, from an event on: the same build repeats events to the bit
    experiment INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (experiment, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE minute (
    experiment INTEGER NOT NULL,
    minute INTEGER NOT NULL,      -- since 1970
    arm INTEGER NOT NULL,
    decided_by TEXT NOT NULL,
    decided INTEGER NOT NULL,
    probed INTEGER NOT NULL,
    rewarded INTEGER NOT NULL,
    expired INTEGER NOT NULL,
    censored INTEGER NOT NULL,
    late INTEGER NOT NULL,
    total REAL NOT NULL,          -- of rewards, and of their squares
    squares REAL NOT NULL,
    delay_us INTEGER NOT NULL,    -- from decisions to their rewards, summed
    PRIMARY KEY (experiment, minute, arm, decided_by)
) STRICT, WITHOUT ROWID;

CREATE TABLE belief (             -- at the end of every minute in which something happened
    experiment INTEGER NOT NULL,
    minute INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (experiment, minute)
) STRICT, WITHOUT ROWID;

CREATE TABLE api_key (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    scope TEXT NOT NULL,          -- JSON: names of experiments, null for all
    digest TEXT NOT NULL UNIQUE,  -- of the secret
    created_us INTEGER NOT NULL,
    created_by TEXT,
    revoked_us INTEGER,
    expires_us INTEGER            -- null for never
) STRICT, WITHOUT ROWID;

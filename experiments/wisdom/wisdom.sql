-- The best known plan per program (with its sizes) and device.

CREATE TABLE IF NOT EXISTS plan (
    identity    TEXT NOT NULL,      -- of the program, sizes included
    device      TEXT NOT NULL,
    platform    TEXT NOT NULL,
    family      TEXT NOT NULL,      -- of the program without its sizes
    name        TEXT NOT NULL,
    sizes       TEXT NOT NULL,      -- JSON list of [name, value]
    extents     TEXT NOT NULL,      -- JSON list
    dialect     TEXT NOT NULL,
    host        INTEGER NOT NULL,   -- whether the device shares the host's cores
    driver      TEXT NOT NULL,
    plan        TEXT NOT NULL,      -- JSON
    ms          REAL NOT NULL,
    default_ms  REAL,
    made_at     TEXT NOT NULL,      -- ISO 8601, UTC
    own         INTEGER NOT NULL,   -- 0: imported
    PRIMARY KEY (identity, device, platform)
);

CREATE INDEX IF NOT EXISTS plan_by_family ON plan (family);

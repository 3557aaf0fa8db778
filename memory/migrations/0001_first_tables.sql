-- A record is its JSON; the other columns are what look-ups need. `position` is the order of arrival.

-- A task's id leaves out its name, wording and template, so one id may be stored under several names.
CREATE TABLE tasks (
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    position INTEGER NOT NULL,
    record TEXT NOT NULL,
    PRIMARY KEY (id, name)
) STRICT;
CREATE INDEX tasks_by_name ON tasks (name, position);
CREATE INDEX tasks_by_position ON tasks (position);

CREATE TABLE candidates (
    id TEXT NOT NULL PRIMARY KEY,
    record TEXT NOT NULL
) STRICT;

CREATE TABLE evaluations (
    position INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    key TEXT NOT NULL,
    candidate_id TEXT NOT NULL REFERENCES candidates (id),
    device_model TEXT NOT NULL,
    device_instance TEXT NOT NULL,
    record TEXT NOT NULL
) STRICT;
CREATE INDEX evaluations_by_key ON evaluations (key, position);
CREATE INDEX evaluations_by_device ON evaluations (device_model, device_instance, position);

CREATE TABLE events (
    search_id TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    at_s REAL NOT NULL,
    record TEXT NOT NULL,
    PRIMARY KEY (search_id, sequence)
) STRICT;
CREATE INDEX searches_by_start ON events (at_s, search_id) WHERE sequence = 1;

CREATE TABLE jobs (
    position INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    status TEXT NOT NULL,
    record TEXT NOT NULL
) STRICT;
CREATE INDEX jobs_by_status ON jobs (status);

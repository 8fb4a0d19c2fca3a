-- The fleet store. The imported files are the truth: the store can be removed and made again.
-- Times are Unix times in seconds, UTC. `sum` is the first 8 bytes of a document's SHA-256.

CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;

-- Nodes. The columns after `name` are those of the newest report.
CREATE TABLE node(
  id INTEGER PRIMARY KEY,
  cluster TEXT NOT NULL,
  name TEXT NOT NULL,
  first INTEGER,
  last INTEGER,
  reports INTEGER NOT NULL DEFAULT 0,
  verdict TEXT,
  profile TEXT,
  touched INTEGER NOT NULL DEFAULT 1,  -- 1: intervals have to be made again, 2: continued
  UNIQUE(cluster, name));
CREATE INDEX node_touched ON node(touched) WHERE touched;

-- Dictionaries of the reports: things that rarely change.
CREATE TABLE scope(id INTEGER PRIMARY KEY, sum INTEGER UNIQUE, checks TEXT);  -- judged, JSON
CREATE TABLE setup(
  id INTEGER PRIMARY KEY,
  sum INTEGER UNIQUE,
  context TEXT,
  benchmark TEXT,
  profile TEXT,
  physical_host TEXT,
  muster TEXT,   -- version
  stack TEXT,    -- versions of the driver, the kernel ..., JSON
  scope INTEGER);
CREATE TABLE fitting(id INTEGER PRIMARY KEY, sum INTEGER UNIQUE, parts TEXT);  -- of a node, JSON
CREATE TABLE layout(id INTEGER PRIMARY KEY, sum INTEGER UNIQUE);
CREATE TABLE position(
  layout INTEGER,
  place INTEGER,     -- of the value in reading.vals, from 0
  quantity TEXT,     -- the id of a check, or "TEST QUANTITY" of a benchmark
  device TEXT,
  unit TEXT,
  conditions TEXT,   -- of a benchmark, JSON
  PRIMARY KEY(layout, place)) WITHOUT ROWID;
CREATE TABLE boot(
  id INTEGER PRIMARY KEY,
  node INTEGER NOT NULL,
  boot_id TEXT NOT NULL,
  first INTEGER,
  last INTEGER,
  physical_host TEXT,
  profile TEXT,
  stack TEXT,
  UNIQUE(node, boot_id));
CREATE TABLE part(
  id INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,    -- gpu, hca, host
  serial TEXT NOT NULL,  -- or the UUID or GUID
  model TEXT,
  UNIQUE(kind, serial));

-- Documents.
CREATE TABLE report(
  node INTEGER,
  at INTEGER,
  sum INTEGER,
  boot INTEGER,     -- null if the report has no boot id
  setup INTEGER,
  fitting INTEGER,  -- null if the report lists no parts
  run INTEGER,
  verdict TEXT,
  found TEXT,       -- findings other than passes, JSON; null if there are none
  PRIMARY KEY(node, at, sum)) WITHOUT ROWID;
CREATE TABLE reading(
  at INTEGER,
  node INTEGER,
  sum INTEGER,
  layout INTEGER,
  vals BLOB,        -- float32, little-endian
  PRIMARY KEY(at, node, sum)) WITHOUT ROWID;
CREATE TABLE snapshot(  -- the first of each week, boot, fitting and verdict
  node INTEGER,
  at INTEGER,
  week INTEGER,
  boot INTEGER,
  fitting INTEGER,
  verdict TEXT,
  sum INTEGER,
  document BLOB,        -- zlib
  PRIMARY KEY(node, week, boot, fitting, verdict)) WITHOUT ROWID;
CREATE TABLE run(
  id INTEGER PRIMARY KEY,
  kind TEXT,     -- accept, or the command of muster-bench
  name TEXT,     -- the id of an acceptance, else the sum of the report
  at INTEGER,
  verdict TEXT,
  nodes TEXT,    -- JSON
  layout INTEGER,
  vals BLOB,
  UNIQUE(kind, name));
CREATE TABLE event(
  node INTEGER,
  at INTEGER,
  sum INTEGER,
  kind TEXT,
  context TEXT,
  job TEXT,
  check_id TEXT,
  device TEXT,
  message TEXT,
  reason TEXT,
  boot_id TEXT,
  PRIMARY KEY(node, at, sum)) WITHOUT ROWID;
CREATE TABLE job(      -- of Slurm
  node INTEGER,
  started INTEGER,
  job TEXT,
  ended INTEGER,       -- null while it runs
  state TEXT,
  exit_code TEXT,
  PRIMARY KEY(node, started, job)) WITHOUT ROWID;
CREATE TABLE outage(   -- of Slurm: down, drained ...
  node INTEGER,
  started INTEGER,
  ended INTEGER,       -- null while it lasts
  state TEXT,
  reason TEXT,
  who TEXT,
  PRIMARY KEY(node, started)) WITHOUT ROWID;
CREATE TABLE refused(  -- documents that could not be imported
  sum INTEGER PRIMARY KEY,
  name TEXT,
  why TEXT,
  document BLOB);      -- zlib

-- Intervals: made from all reports of a node whenever some are added.
CREATE TABLE seat(     -- where a part was; another part in the same slot is a replacement
  part INTEGER,
  node INTEGER,
  slot TEXT,           -- the PCI address, else the device
  device TEXT,
  started INTEGER,
  last INTEGER,        -- seen there
  ended INTEGER,       -- when another part was seen there, or the part in another slot
  PRIMARY KEY(node, slot, part, started)) WITHOUT ROWID;
CREATE INDEX seat_part ON seat(part);
CREATE TABLE finding(
  node INTEGER,
  part INTEGER,
  check_id TEXT,
  device TEXT,
  outcome TEXT,
  code TEXT,
  remedy TEXT,
  message TEXT,        -- with observed, limit_value and unit, those of the last report
  observed,
  limit_value,
  unit TEXT,
  started INTEGER,
  last INTEGER,        -- seen
  ended INTEGER,       -- when a report that judged the check lacked it
  reports INTEGER,
  PRIMARY KEY(node, started, check_id, device, outcome, code)) WITHOUT ROWID;
CREATE INDEX finding_part ON finding(part) WHERE part IS NOT NULL;
CREATE TABLE incident(  -- failures of the same devices, from the first report to a healthy verdict
  node INTEGER,
  started INTEGER,
  cause TEXT,           -- the check that failed first
  device TEXT,          -- one, or "8 devices"
  part INTEGER,         -- of one device, if it is known
  boot INTEGER,
  ended INTEGER,        -- null while it lasts
  hours REAL,           -- node-hours lost, shared by incidents at the same time
  message TEXT,
  PRIMARY KEY(node, started, cause, device)) WITHOUT ROWID;
CREATE INDEX incident_part ON incident(part) WHERE part IS NOT NULL;
CREATE TABLE fitted(     -- a node reported these parts, until it reported others
  node INTEGER,
  started INTEGER,
  fitting INTEGER,
  PRIMARY KEY(node, started)) WITHOUT ROWID;
CREATE TABLE uptime(    -- a node was up: from the first to the last report of a boot
  node INTEGER,
  started INTEGER,
  ended INTEGER,
  boot INTEGER,
  PRIMARY KEY(node, started)) WITHOUT ROWID;

-- Times in which a part was observed in a running node.
CREATE VIEW part_uptime AS
  SELECT seat.part, seat.node, seat.slot,
         max(seat.started, uptime.started) AS started, min(seat.last, uptime.ended) AS ended
  FROM seat JOIN uptime ON uptime.node = seat.node
   AND uptime.started < seat.last AND uptime.ended > seat.started;
-- Hours of each part and day: up, and with a job on its node.
CREATE VIEW exposure AS
  WITH RECURSIVE piece(part, node, started, ended, day) AS (
    SELECT part, node, started, ended, started / 86400 FROM part_uptime
    UNION ALL
    SELECT part, node, started, ended, day + 1 FROM piece WHERE (day + 1) * 86400 < ended)
  SELECT part, day,
         sum(min(ended, (day + 1) * 86400) - max(started, day * 86400)) / 3600.0 AS up_hours,
         sum((SELECT coalesce(sum(min(coalesce(job.ended, piece.ended), piece.ended,
                                      (day + 1) * 86400)
                                  - max(job.started, piece.started, day * 86400)), 0)
              FROM job
              WHERE job.node = piece.node AND job.started < min(piece.ended, (day + 1) * 86400)
                AND coalesce(job.ended, piece.ended) > max(piece.started, day * 86400)))
           / 3600.0 AS job_hours
  FROM piece GROUP BY part, day;

-- The views of schema.sql for PostgreSQL, and the values of reports as rows.
CREATE OR REPLACE VIEW part_uptime AS
  SELECT seat.part, seat.node, seat.slot,
         greatest(seat.started, uptime.started) AS started, least(seat.last, uptime.ended) AS ended
  FROM seat JOIN uptime ON uptime.node = seat.node
   AND uptime.started < seat.last AND uptime.ended > seat.started;

CREATE OR REPLACE VIEW exposure AS
  WITH piece AS (
    SELECT part, node, day, greatest(started, day * 86400) AS started,
           least(ended, (day + 1) * 86400) AS ended
    FROM part_uptime, generate_series(started / 86400, (ended - 1) / 86400) AS day)
  SELECT part, day, sum(ended - started) / 3600.0 AS up_hours,
         sum((SELECT coalesce(sum(least(coalesce(job.ended, piece.ended), piece.ended)
                                  - greatest(job.started, piece.started)), 0)
              FROM job WHERE job.node = piece.node AND job.started < piece.ended
                AND coalesce(job.ended, piece.ended) > piece.started)) / 3600.0 AS job_hours
  FROM piece GROUP BY part, day;

CREATE OR REPLACE VIEW value AS
  SELECT reading.at, reading.node, position.quantity, position.device, position.unit,
         position.conditions, v.number
  FROM reading CROSS JOIN LATERAL unnest(reading.vals) WITH ORDINALITY AS v(number, place)
  JOIN position ON position.layout = reading.layout AND position.place = v.place - 1;

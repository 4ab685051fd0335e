-- Versions of what the model is sent of a session. A row is written once; the last one is the active view.
CREATE TABLE view_versions (
  session INTEGER NOT NULL,
  version INTEGER NOT NULL,
  created_at REAL NOT NULL,
  cause TEXT NOT NULL,
  content TEXT NOT NULL,
  PRIMARY KEY(session, version)
) WITHOUT ROWID;
ALTER TABLE sessions ADD COLUMN parent_session TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN parent_seq INTEGER NOT NULL DEFAULT 0;

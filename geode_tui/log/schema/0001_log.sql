-- The log. Columns that GEODE's readers know keep their names; ours stand after them.

CREATE TABLE sessions (
  id INTEGER PRIMARY KEY,
  session_id TEXT NOT NULL UNIQUE,
  created_at REAL NOT NULL,
  updated_at REAL NOT NULL,
  status TEXT NOT NULL DEFAULT 'active',
  model TEXT NOT NULL DEFAULT '',
  provider TEXT NOT NULL DEFAULT 'anthropic',
  user_input TEXT NOT NULL DEFAULT '',
  round_count INTEGER NOT NULL DEFAULT 0,
  message_count INTEGER NOT NULL DEFAULT 0,
  handoff_state TEXT NOT NULL DEFAULT '',
  handoff_platform TEXT NOT NULL DEFAULT '',
  handoff_error TEXT NOT NULL DEFAULT '',
  handoff_triggered_at REAL NOT NULL DEFAULT 0.0,
  source TEXT NOT NULL DEFAULT '',
  origin TEXT NOT NULL DEFAULT 'own',
  title TEXT NOT NULL DEFAULT '',
  options TEXT NOT NULL DEFAULT '{}',
  epoch INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX idx_sessions_updated ON sessions(updated_at DESC);
CREATE INDEX idx_sessions_handoff_state ON sessions(handoff_state, handoff_triggered_at) WHERE handoff_state != '';

-- A row of an answer is inserted as 'open' without content and updated once, when it is complete or given up.
CREATE TABLE messages (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  session_id TEXT NOT NULL,
  seq INTEGER NOT NULL,
  role TEXT NOT NULL,
  content TEXT,
  tool_call_id TEXT,
  tool_calls TEXT,
  tool_name TEXT,
  timestamp REAL NOT NULL,
  token_count INTEGER,
  finish_reason TEXT,
  reasoning TEXT,
  metadata TEXT,
  turn INTEGER NOT NULL DEFAULT 0,
  round INTEGER NOT NULL DEFAULT 0,
  status TEXT NOT NULL DEFAULT 'complete',
  chars INTEGER NOT NULL DEFAULT 0,
  UNIQUE(session_id, seq)
);
CREATE INDEX idx_messages_session ON messages(session_id, seq);
CREATE INDEX idx_messages_tool_name ON messages(tool_name);
CREATE INDEX idx_messages_open ON messages(session_id, id) WHERE status = 'open';
-- A call has one result, whatever crashes.
CREATE UNIQUE INDEX idx_messages_result ON messages(session_id, tool_call_id) WHERE role = 'tool';

-- Pieces of an open message: an overlay, deleted when the message is complete.
CREATE TABLE chunks (
  message_id INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  block INTEGER NOT NULL,
  kind TEXT NOT NULL,
  name TEXT NOT NULL DEFAULT '',
  text TEXT NOT NULL,
  PRIMARY KEY(message_id, seq)
) WITHOUT ROWID;

-- Facts in the past tense. session is sessions.id: a text id costs 40 % of the append rate.
CREATE TABLE events (
  id INTEGER PRIMARY KEY,
  session INTEGER NOT NULL,
  ts REAL NOT NULL,
  turn INTEGER NOT NULL,
  round INTEGER NOT NULL,
  event TEXT NOT NULL,
  payload TEXT NOT NULL
);
CREATE INDEX idx_events_session ON events(session, id);

CREATE TABLE commands (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  session_id TEXT NOT NULL,
  client_id TEXT NOT NULL,
  key TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL,
  payload TEXT NOT NULL,
  created_at REAL NOT NULL,
  claimed_epoch INTEGER,
  done_at REAL,
  outcome TEXT
);
CREATE INDEX idx_commands_open ON commands(session_id, id) WHERE done_at IS NULL;

CREATE TABLE state_snapshots (
  session INTEGER NOT NULL,
  event_id INTEGER NOT NULL,
  kind TEXT NOT NULL,
  reducer_hash TEXT NOT NULL,
  state BLOB NOT NULL,
  PRIMARY KEY(session, event_id, kind)
) WITHOUT ROWID;

CREATE TABLE context_artifacts (
  artifact_id TEXT PRIMARY KEY,
  session_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  source_start_seq INTEGER,
  source_end_seq INTEGER,
  content TEXT NOT NULL,
  metadata TEXT NOT NULL DEFAULT '{}',
  token_count INTEGER,
  model TEXT NOT NULL DEFAULT '',
  provider TEXT NOT NULL DEFAULT '',
  content_hash TEXT NOT NULL,
  created_at REAL NOT NULL,
  updated_at REAL NOT NULL,
  UNIQUE(session_id, kind, source_start_seq, source_end_seq, content_hash)
);
CREATE INDEX idx_context_artifacts_session ON context_artifacts(session_id, kind, updated_at DESC);
CREATE INDEX idx_context_artifacts_kind ON context_artifacts(kind, updated_at DESC);

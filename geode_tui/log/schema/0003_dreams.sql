-- A session has one dream up to a message, whoever writes it.
CREATE UNIQUE INDEX idx_context_artifacts_dream ON context_artifacts(session_id, source_end_seq) WHERE kind = 'dream';

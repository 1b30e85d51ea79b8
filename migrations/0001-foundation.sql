-- Timestamps are RFC 3339 text in UTC with milliseconds, so that they sort as text. Objects and lists are JSON text.
-- On SQLite a table without rowid is kept in the order of its primary key, in one tree instead of two.
-- `version` counts the changes of a row and is what its ETag is made of.

CREATE TABLE installation (
  id integer PRIMARY KEY,
  -- A known text sealed with the master key: tells a wrong key at start instead of at the first use.
  key_check text NOT NULL,
  created_at text NOT NULL
);

CREATE TABLE organizations (
  id text PRIMARY KEY,
  name text NOT NULL,
  created_at text NOT NULL,
  version integer NOT NULL DEFAULT 1
) /* sqlite: WITHOUT ROWID */;

CREATE TABLE users (
  id text PRIMARY KEY,
  name text NOT NULL,
  email text NOT NULL UNIQUE,
  created_at text NOT NULL,
  version integer NOT NULL DEFAULT 1
) /* sqlite: WITHOUT ROWID */;

CREATE TABLE members (
  organization_id text NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  user_id text NOT NULL REFERENCES users (id),
  role text NOT NULL CHECK (role IN ('admin', 'developer')),
  joined_at text NOT NULL,
  version integer NOT NULL DEFAULT 1,
  PRIMARY KEY (organization_id, user_id)
) /* sqlite: WITHOUT ROWID */;

CREATE INDEX members_admins ON members (organization_id) WHERE role = 'admin';

CREATE INDEX members_of_user ON members (user_id);

CREATE TABLE api_keys (
  id text PRIMARY KEY,
  organization_id text NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  key_id text NOT NULL UNIQUE,
  secret_hash text NOT NULL,
  key_suffix text NOT NULL,
  name text NOT NULL,
  role text NOT NULL CHECK (role IN ('admin', 'developer')),
  state text NOT NULL CHECK (state IN ('enabled', 'disabled')),
  expire_at text,
  ip_access_list text NOT NULL,
  created_at text NOT NULL,
  used_at text,
  version integer NOT NULL DEFAULT 1
) /* sqlite: WITHOUT ROWID */;

CREATE INDEX api_keys_of_organization ON api_keys (organization_id);

CREATE TABLE services (
  id text PRIMARY KEY,
  organization_id text NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  name text NOT NULL,
  provider text NOT NULL CHECK (provider IN ('aws', 'gcp', 'azure')),
  region text NOT NULL,
  created_at text NOT NULL,
  version integer NOT NULL DEFAULT 1
) /* sqlite: WITHOUT ROWID */;

CREATE INDEX services_of_organization ON services (organization_id);

CREATE TABLE private_endpoints (
  organization_id text NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  id text NOT NULL,
  description text NOT NULL,
  created_at text NOT NULL,
  PRIMARY KEY (organization_id, id)
) /* sqlite: WITHOUT ROWID */;

CREATE TABLE service_private_endpoints (
  service_id text NOT NULL REFERENCES services (id) ON DELETE CASCADE,
  organization_id text NOT NULL,
  endpoint_id text NOT NULL,
  attached_at text NOT NULL,
  PRIMARY KEY (service_id, endpoint_id),
  FOREIGN KEY (organization_id, endpoint_id) REFERENCES private_endpoints (organization_id, id)
) /* sqlite: WITHOUT ROWID */;

CREATE INDEX service_private_endpoints_of_endpoint ON service_private_endpoints (organization_id, endpoint_id);

CREATE TABLE pipes (
  id text PRIMARY KEY,
  organization_id text NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  service_id text NOT NULL REFERENCES services (id),
  name text NOT NULL,
  kind text NOT NULL CHECK (kind IN ('kafka', 'kinesis', 'objectStorage', 'postgres')),
  state text NOT NULL,
  source text NOT NULL,
  -- Sealed JSON; NULL when the source has no secrets.
  secrets text,
  destination text NOT NULL,
  field_mappings text NOT NULL,
  scaling text NOT NULL,
  -- Only what was set; the rest are defaults.
  settings text NOT NULL,
  created_at text NOT NULL,
  updated_at text NOT NULL,
  version integer NOT NULL DEFAULT 1
);

CREATE INDEX pipes_of_service ON pipes (service_id);

CREATE TABLE activities (
  organization_id text NOT NULL,
  id text NOT NULL,
  type text NOT NULL,
  created_at text NOT NULL,
  actor_id text NOT NULL,
  address text NOT NULL,
  user_agent text NOT NULL,
  request_id text NOT NULL,
  target text NOT NULL,
  changes text NOT NULL,
  PRIMARY KEY (organization_id, id)
) /* sqlite: WITHOUT ROWID */;

CREATE TABLE idempotency_records (
  organization_id text NOT NULL,
  -- The API key that made the request: one client's keys never meet another's.
  caller_id text NOT NULL,
  idempotency_key text NOT NULL,
  fingerprint text NOT NULL,
  -- Sealed: an answer may hold a secret that is shown once.
  answer text,
  created_at text NOT NULL,
  PRIMARY KEY (organization_id, caller_id, idempotency_key)
) /* sqlite: WITHOUT ROWID */;

CREATE INDEX idempotency_records_by_age ON idempotency_records (created_at);

-- How many admins an organization has. Counted, not looked up: an index of the admins made every change of a role touch a
-- second page somewhere in a large store.
ALTER TABLE organizations ADD COLUMN admin_count integer NOT NULL DEFAULT 0 CHECK (admin_count >= 0);

UPDATE organizations SET admin_count =
  (SELECT count(*) FROM members WHERE members.organization_id = organizations.id AND members.role = 'admin');

DROP INDEX members_admins;

-- What the versions of new members begin with: above those of the members that were removed, so that an ETag from before
-- does not fit somebody who has joined again.
ALTER TABLE organizations ADD COLUMN first_member_version integer NOT NULL DEFAULT 1;

-- People are found by their email, whatever the case in which it is written.
-- refused: Users have emails that differ only in the case of letters: {rows}. This version takes them for one and the same, and
-- refused: who is who is not for it to say. Nothing has been changed. Give each an email of its own in the table users, then start again.
SELECT email FROM users
  WHERE lower(email) IN (SELECT lower(email) FROM users GROUP BY lower(email) HAVING count(*) > 1)
  ORDER BY lower(email), email;

UPDATE users SET email = lower(email), version = version + 1 WHERE email <> lower(email);

-- The newest activity that a seal covers: later activities have greater ids, whatever the clock says.
ALTER TABLE organizations ADD COLUMN sealed_up_to text NOT NULL DEFAULT '';

-- The newest of them all is looked up when the writer of SQLite starts.
-- only sqlite
CREATE INDEX organizations_by_seal ON organizations (sealed_up_to);

ALTER TABLE activities ADD COLUMN actor_type text NOT NULL DEFAULT 'key' CHECK (actor_type IN ('key', 'user', 'system'));

-- Each seal holds a digest of every activity since the seal before, and is chained to it.
CREATE TABLE activity_seals (
  organization_id text NOT NULL,
  number integer NOT NULL,
  last_activity_id text NOT NULL,
  -- The id and the digest of each activity, in the order of their ids, apart by spaces.
  digests text NOT NULL,
  hash text NOT NULL,
  sealed_at text NOT NULL,
  PRIMARY KEY (organization_id, number)
) /* sqlite: WITHOUT ROWID */;

CREATE INDEX activities_by_type ON activities (organization_id, type, id);

-- Lists are read by these, the newest first: a page far down costs what the first one costs.
CREATE INDEX members_by_age ON members (organization_id, joined_at, user_id);

DROP INDEX api_keys_of_organization;

CREATE INDEX api_keys_by_age ON api_keys (organization_id, created_at, id);

DROP INDEX services_of_organization;

CREATE INDEX services_by_age ON services (organization_id, created_at, id);

DROP INDEX pipes_of_service;

CREATE INDEX pipes_by_age ON pipes (service_id, created_at, id);

-- Counted for Prometheus without reading the pipes themselves.
CREATE INDEX pipes_by_state ON pipes (service_id, state);

CREATE INDEX private_endpoints_by_age ON private_endpoints (organization_id, created_at, id);

CREATE INDEX service_private_endpoints_by_age ON service_private_endpoints (service_id, attached_at, endpoint_id);

-- A rotated key may be used with its old secret until then.
ALTER TABLE api_keys ADD COLUMN previous_secret_hash text;

ALTER TABLE api_keys ADD COLUMN previous_valid_until text;

ALTER TABLE services ADD COLUMN endpoint_url text;

ALTER TABLE services ADD COLUMN endpoint_username text;

-- Sealed.
ALTER TABLE services ADD COLUMN endpoint_password text;

ALTER TABLE services ADD COLUMN ip_access_list text NOT NULL DEFAULT '[]';

-- What the last check of the engine found.
ALTER TABLE services ADD COLUMN state text NOT NULL DEFAULT 'provisioning'
  CHECK (state IN ('provisioning', 'running', 'degraded', 'failed', 'stopped'));

ALTER TABLE services ADD COLUMN state_reason text;

ALTER TABLE services ADD COLUMN engine_version text;

ALTER TABLE services ADD COLUMN failed_checks integer NOT NULL DEFAULT 0;

-- Whoever moves this on does the check: several processes never check the same service at once.
ALTER TABLE services ADD COLUMN next_check_at text NOT NULL DEFAULT '';

CREATE INDEX services_to_check ON services (next_check_at, organization_id) WHERE endpoint_url IS NOT NULL;

CREATE TABLE invitations (
  organization_id text NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  id text NOT NULL,
  email text NOT NULL,
  role text NOT NULL CHECK (role IN ('admin', 'developer')),
  -- Of the token in the link, which is shown once.
  token_hash text NOT NULL UNIQUE,
  created_at text NOT NULL,
  expire_at text NOT NULL,
  version integer NOT NULL DEFAULT 1,
  PRIMARY KEY (organization_id, id)
) /* sqlite: WITHOUT ROWID */;

CREATE INDEX invitations_by_age ON invitations (organization_id, created_at, id);

CREATE UNIQUE INDEX invitations_by_email ON invitations (organization_id, email);

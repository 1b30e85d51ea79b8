-- How a person proves who they are: with a password, with OpenID Connect, or (without either) by a link that an operator makes.
-- An argon2id hash with its parameters.
ALTER TABLE users ADD COLUMN password_hash text;

-- The issuer and the subject that an OpenID provider knows the person by.
ALTER TABLE users ADD COLUMN oidc_subject text;

CREATE UNIQUE INDEX users_by_oidc_subject ON users (oidc_subject) WHERE oidc_subject IS NOT NULL;

-- Who comes with an OpenID provider's word for an email address may be waited for somewhere.
CREATE INDEX invitations_of_person ON invitations (email);

CREATE TABLE sessions (
  -- Of the token in the cookie.
  token_hash text PRIMARY KEY,
  -- Names the session where people see it.
  id text NOT NULL UNIQUE,
  user_id text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  created_at text NOT NULL,
  used_at text NOT NULL,
  -- Whatever happens, it ends then.
  expire_at text NOT NULL,
  address text NOT NULL,
  user_agent text NOT NULL,
  -- Begun by a sign-in link: at first the password can be replaced without knowing it.
  is_by_link integer NOT NULL CHECK (is_by_link IN (0, 1))
) /* sqlite: WITHOUT ROWID */;

CREATE INDEX sessions_of_user ON sessions (user_id);

-- Each signs its person in once.
CREATE TABLE sign_in_links (
  token_hash text PRIMARY KEY,
  user_id text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  created_at text NOT NULL,
  expire_at text NOT NULL
) /* sqlite: WITHOUT ROWID */;

CREATE INDEX sign_in_links_of_user ON sign_in_links (user_id);

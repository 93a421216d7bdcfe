-- Run once, by a superuser, in the new database memwell. The services log in as a role that owns the database and is nobody
-- special: PostgreSQL applies row level security to it, which keeps spaces apart. The superuser has no password after this,
-- so that nobody becomes it over the network.
DO $$
BEGIN
    EXECUTE format(
        'CREATE ROLE memwell LOGIN PASSWORD %L', btrim(pg_read_file('/run/secrets/postgres_password'), E' \n')
    );
END $$;
ALTER DATABASE memwell OWNER TO memwell;
CREATE EXTENSION IF NOT EXISTS vector;
ALTER ROLE CURRENT_USER PASSWORD NULL;

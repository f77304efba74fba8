//! The schema: migrations in the binary, applied in their order, each once, by one process at a time.

use sqlx::{Connection, PgConnection};

use crate::ledger::migration::{Migration, Schema, compare};

/// The role that the migrations grant rows to.
pub(super) const RUNTIME_ROLE: &str = "kazoe_runtime";

/// Names our advisory lock in a database: `KAZO` in ASCII.
const LOCK: i64 = 0x4b41_5a4f;

/// Append-only.
const MIGRATIONS: [Migration; 8] = [
    Migration {
        version: 20_261_130_000_000,
        name: "create_ledger",
        sql: include_str!("../../../../migrations/postgres/20261130000000_create_ledger.sql"),
    },
    Migration {
        version: 20_261_201_000_000,
        name: "add_workers",
        sql: include_str!("../../../../migrations/postgres/20261201000000_add_workers.sql"),
    },
    Migration {
        version: 20_261_202_000_000,
        name: "add_cpu_time",
        sql: include_str!("../../../../migrations/postgres/20261202000000_add_cpu_time.sql"),
    },
    Migration {
        version: 20_261_203_000_000,
        name: "order_live_leases",
        sql: include_str!("../../../../migrations/postgres/20261203000000_order_live_leases.sql"),
    },
    Migration {
        version: 20_261_204_000_000,
        name: "own_due_audits",
        sql: include_str!("../../../../migrations/postgres/20261204000000_own_due_audits.sql"),
    },
    Migration {
        version: 20_261_205_000_000,
        name: "find_expired_leases",
        sql: include_str!("../../../../migrations/postgres/20261205000000_find_expired_leases.sql"),
    },
    Migration {
        version: 20_261_210_000_000,
        name: "label_workers",
        sql: include_str!("../../../../migrations/postgres/20261210000000_label_workers.sql"),
    },
    Migration {
        version: 20_261_210_000_001,
        name: "tell_holds",
        sql: include_str!("../../../../migrations/postgres/20261210000001_tell_holds.sql"),
    },
];

/// How a database's schema compares with this build's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It is the same.
    Known,
    /// It lacks a migration.
    Behind,
    /// The tables are in this schema, in which a name without a schema is not looked for.
    Hidden(String),
    /// It holds a migration of a later build.
    Newer(i64),
}

/// What applying the migrations did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Migrated {
    /// The schema is this build's.
    Done,
    /// There is nobody to grant rows to; nothing was changed.
    NoRuntimeRole,
    /// The schema holds a migration of a later build; nothing was changed.
    Newer(i64),
}

/// Which migrations a database has had. Empty for a database without any table of ours.
async fn applied(conn: &mut PgConnection) -> Result<Vec<i64>, sqlx::Error> {
    let there = sqlx::query_scalar::<_, bool>(
        "-- migrate_find_table
         SELECT to_regclass('schema_migrations') IS NOT NULL",
    )
    .fetch_one(&mut *conn)
    .await?;
    if !there {
        return Ok(Vec::new());
    }
    sqlx::query_scalar::<_, i64>(
        "-- migrate_list_applied
         SELECT version FROM schema_migrations ORDER BY version",
    )
    .fetch_all(conn)
    .await
}

/// Compares the schema with this build's, without changing it.
pub(super) async fn inspect(conn: &mut PgConnection) -> Result<State, sqlx::Error> {
    let applied = applied(&mut *conn).await?;
    if applied.is_empty()
        && let Some(schema) = hiding_schema(conn).await?
    {
        return Ok(State::Hidden(schema));
    }
    Ok(match compare(&MIGRATIONS, &applied) {
        Schema::Newer(version) => State::Newer(version),
        Schema::Known if applied.len() < MIGRATIONS.len() => State::Behind,
        Schema::Known => State::Known,
    })
}

/// The schema with the tables, if they are not found by their names alone.
async fn hiding_schema(conn: &mut PgConnection) -> Result<Option<String>, sqlx::Error> {
    sqlx::query_scalar::<_, String>(
        "-- migrate_find_schema
         SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE c.relname = 'schema_migrations' AND c.relkind = 'r' AND NOT pg_table_is_visible(c.oid)
         ORDER BY n.nspname LIMIT 1",
    )
    .fetch_optional(conn)
    .await
}

/// Brings the schema up to this build's, all in one transaction, from whatever it was.
pub(super) async fn migrate(conn: &mut PgConnection) -> Result<Migrated, sqlx::Error> {
    let mut tx = conn.begin().await?;
    sqlx::query(
        "-- migrate_lock
         SELECT pg_advisory_xact_lock($1)",
    )
    .bind(LOCK)
    .execute(&mut *tx)
    .await?;
    let applied = applied(&mut tx).await?;
    if let Schema::Newer(version) = compare(&MIGRATIONS, &applied) {
        return Ok(Migrated::Newer(version));
    }
    let roles = sqlx::query_scalar::<_, i64>(
        "-- migrate_find_role
         SELECT count(*) FROM pg_roles WHERE rolname = $1",
    )
    .bind(RUNTIME_ROLE)
    .fetch_one(&mut *tx)
    .await?;
    if roles == 0 {
        return Ok(Migrated::NoRuntimeRole);
    }
    if applied.is_empty() {
        sqlx::raw_sql(
            "-- migrate_begin
             CREATE TABLE schema_migrations (
                 version bigint NOT NULL PRIMARY KEY,
                 name text NOT NULL,
                 applied_at bigint NOT NULL
             );
             GRANT SELECT ON schema_migrations TO kazoe_runtime;",
        )
        .execute(&mut *tx)
        .await?;
    }
    let missing = MIGRATIONS
        .iter()
        .filter(|migration| !applied.contains(&migration.version));
    for migration in missing {
        sqlx::raw_sql(migration.sql).execute(&mut *tx).await?;
        sqlx::query(
            "-- migrate_record
             INSERT INTO schema_migrations (version, name, applied_at)
             VALUES ($1, $2, (extract(epoch FROM clock_timestamp()) * 1000)::bigint)",
        )
        .bind(migration.version)
        .bind(migration.name)
        .execute(&mut *tx)
        .await?;
    }
    tx.commit().await?;
    Ok(Migrated::Done)
}

#[cfg(test)]
mod tests {
    use super::MIGRATIONS;
    use crate::ledger::migration::assert_folder;

    #[test]
    fn the_folder_holds_these_migrations_and_no_others() {
        assert_folder(&MIGRATIONS, "postgres");
    }
}

//! The schema: migrations in the binary, applied in their order, each once.

use sqlx::{Connection, SqliteConnection};

pub(super) use crate::ledger::migration::Schema;
use crate::ledger::migration::{Migration, compare};

/// `KAZO` in ASCII: tells our files from other SQLite files.
pub(super) const APPLICATION_ID: i64 = 0x4b41_5a4f;

/// Append-only.
const MIGRATIONS: [Migration; 3] = [
    Migration {
        version: 20_261_130_000_000,
        name: "create_ledger",
        sql: include_str!("../../../../migrations/sqlite/20261130000000_create_ledger.sql"),
    },
    Migration {
        version: 20_261_202_000_000,
        name: "add_cpu_time",
        sql: include_str!("../../../../migrations/sqlite/20261202000000_add_cpu_time.sql"),
    },
    Migration {
        version: 20_261_220_000_000,
        name: "drop_leases",
        sql: include_str!("../../../../migrations/sqlite/20261220000000_drop_leases.sql"),
    },
];

/// Which migrations a database has had. Empty for a database without any table.
async fn applied(conn: &mut SqliteConnection) -> Result<Vec<i64>, sqlx::Error> {
    let there = sqlx::query_scalar::<_, i64>(
        "-- migrate_find_table
         SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'schema_migrations'",
    )
    .fetch_one(&mut *conn)
    .await?;
    if there == 0 {
        return Ok(Vec::new());
    }
    sqlx::query_scalar::<_, i64>(
        "-- migrate_list_applied
         SELECT version FROM schema_migrations ORDER BY version",
    )
    .fetch_all(conn)
    .await
}

/// Returns whether this build knows the schema, without changing it.
async fn inspect(conn: &mut SqliteConnection) -> Result<Schema, sqlx::Error> {
    Ok(compare(&MIGRATIONS, &applied(conn).await?))
}

/// Brings the schema up to this build's, all in one transaction, from whatever it was. Foreign keys are off
/// meanwhile: a table that others refer to is rebuilt (sqlite.org/lang_altertable.html, "Making Other Kinds Of
/// Table Schema Changes").
pub(super) async fn migrate(conn: &mut SqliteConnection) -> Result<Schema, sqlx::Error> {
    foreign_keys(conn, false).await?;
    let migrated = in_one_transaction(conn).await;
    foreign_keys(conn, true).await?;
    migrated
}

async fn foreign_keys(conn: &mut SqliteConnection, on: bool) -> Result<(), sqlx::Error> {
    let pragma = match on {
        true => "PRAGMA foreign_keys = ON",
        false => "PRAGMA foreign_keys = OFF",
    };
    sqlx::query(pragma).execute(conn).await?;
    Ok(())
}

async fn in_one_transaction(conn: &mut SqliteConnection) -> Result<Schema, sqlx::Error> {
    let mut tx = conn.begin_with("BEGIN IMMEDIATE").await?;
    if let Schema::Newer(version) = inspect(&mut tx).await? {
        return Ok(Schema::Newer(version));
    }
    let applied = applied(&mut tx).await?;
    if applied.is_empty() {
        sqlx::raw_sql(
            "-- migrate_begin
             PRAGMA application_id = 0x4b415a4f;
             CREATE TABLE schema_migrations (
                 version INTEGER PRIMARY KEY,
                 name TEXT NOT NULL,
                 applied_at INTEGER NOT NULL
             ) STRICT;",
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
             VALUES (?1, ?2, CAST(unixepoch('subsec') * 1000 AS INTEGER))",
        )
        .bind(migration.version)
        .bind(migration.name)
        .execute(&mut *tx)
        .await?;
    }
    tx.commit().await?;
    Ok(Schema::Known)
}

#[cfg(test)]
mod tests {
    use super::{APPLICATION_ID, MIGRATIONS, Schema, inspect, migrate};
    use crate::ledger::migration::assert_folder;
    use sqlx::{Connection, SqliteConnection};

    #[tokio::test]
    async fn an_empty_database_gets_every_migration_once() {
        let mut conn = SqliteConnection::connect("sqlite::memory:").await.unwrap();
        for _ in 0..2 {
            assert_eq!(migrate(&mut conn).await.unwrap(), Schema::Known);
            let count = sqlx::query_scalar::<_, i64>("SELECT count(*) FROM schema_migrations")
                .fetch_one(&mut conn)
                .await
                .unwrap();
            assert_eq!(count, i64::try_from(MIGRATIONS.len()).unwrap());
        }
        let id = sqlx::query_scalar::<_, i64>("PRAGMA application_id")
            .fetch_one(&mut conn)
            .await
            .unwrap();
        assert_eq!(id, APPLICATION_ID);
    }

    #[tokio::test]
    async fn a_later_build_s_schema_is_left_alone() {
        let mut conn = SqliteConnection::connect("sqlite::memory:").await.unwrap();
        migrate(&mut conn).await.unwrap();
        sqlx::query("INSERT INTO schema_migrations VALUES (29991231000000, 'later', 0)")
            .execute(&mut conn)
            .await
            .unwrap();
        let newer = Schema::Newer(29_991_231_000_000);
        assert_eq!(inspect(&mut conn).await.unwrap(), newer);
        assert_eq!(migrate(&mut conn).await.unwrap(), newer);
    }

    #[test]
    fn the_folder_holds_these_migrations_and_no_others() {
        assert_folder(&MIGRATIONS, "sqlite");
    }
}

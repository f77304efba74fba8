//! Credentials: made, found, listed, revoked.

use std::collections::HashMap;

use kazoe_proto::name::stored_owner;

use super::audit_log::{Deed, write_deed};
use super::{PostgresLedger, now};
use crate::ledger::rows::Failure;
use crate::ledger::{Credential, LedgerError, Role, SecretHash};

type Row = (String, String, String, Vec<u8>, i64, bool);

fn credential((id, owner, role, hash, created_at, revoked): Row) -> Result<Credential, Failure> {
    let row = |what: &str| LedgerError::Row(format!("credential {id}: {what}"));
    Ok(Credential {
        role: Role::by_name(&role).ok_or_else(|| row("its role"))?,
        hash: SecretHash::try_from(hash.as_slice()).map_err(|_| row("its hash"))?,
        id,
        owner: stored_owner(owner),
        created_at,
        revoked,
    })
}

impl PostgresLedger {
    /// Keeps a new credential. Sent again it changes nothing; returns false if the id is another's.
    ///
    /// # Errors
    /// [`LedgerError::Storage`].
    pub async fn add_credential(
        &self,
        id: &str,
        owner: &str,
        role: Role,
        hash: &SecretHash,
        by: &str,
    ) -> Result<bool, LedgerError> {
        self.write(|mut tx, _| async move {
            let at = now(&mut tx).await?;
            sqlx::query(
                "-- credentials_insert
                 INSERT INTO credentials (id, owner, role, hash, created_at, created_by)
                 VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING",
            )
            .bind(id)
            .bind(owner)
            .bind(role.name())
            .bind(hash.to_vec())
            .bind(at)
            .bind(by)
            .execute(&mut *tx)
            .await?;
            let stored = sqlx::query_scalar::<_, Vec<u8>>(
                "-- credentials_hash
                 SELECT hash FROM credentials WHERE id = $1",
            )
            .bind(id)
            .fetch_one(&mut *tx)
            .await?;
            Ok((tx, stored == hash))
        })
        .await
    }

    /// Finds credentials by their ids.
    ///
    /// # Errors
    /// [`LedgerError::Storage`].
    pub async fn find_credentials(
        &self,
        ids: &[String],
    ) -> Result<Vec<Option<Credential>>, LedgerError> {
        let found = self.read(|mut tx| async move {
            let rows = sqlx::query_as::<_, Row>(
                "-- credentials_find
                 SELECT id, owner, role, hash, created_at, revoked_at IS NOT NULL
                 FROM credentials WHERE id = ANY ($1)",
            )
            .bind(ids)
            .fetch_all(&mut *tx)
            .await?;
            let found = rows.into_iter().map(|row| {
                let found = credential(row)?;
                Ok((found.id.clone(), found))
            });
            found.collect::<Result<HashMap<_, _>, Failure>>()
        });
        let found = found.await?;
        Ok(ids.iter().map(|id| found.get(id).cloned()).collect())
    }

    /// All credentials, oldest first.
    ///
    /// # Errors
    /// [`LedgerError::Storage`].
    pub async fn credentials(&self) -> Result<Vec<Credential>, LedgerError> {
        self.read(|mut tx| async move {
            sqlx::query_as::<_, Row>(
                "-- credentials_list
                 SELECT id, owner, role, hash, created_at, revoked_at IS NOT NULL
                 FROM credentials ORDER BY created_at, id",
            )
            .fetch_all(&mut *tx)
            .await?
            .into_iter()
            .map(credential)
            .collect()
        })
        .await
    }

    /// Ends a credential, and then the leases of workers that joined with it, which go back. Returns false
    /// if there is none of this id that is still good.
    ///
    /// Two transactions: whoever lends something and finds the credential good afterwards did so before
    /// the first, so the second sees the lease.
    ///
    /// # Errors
    /// [`LedgerError::Storage`].
    pub async fn revoke_credential(&self, id: &str, actor: &str) -> Result<bool, LedgerError> {
        if !self.mark_revoked(id, actor).await? {
            return Ok(false);
        }
        let workers = self.read(|mut tx| async move {
            let workers = sqlx::query_scalar::<_, String>(
                "-- credentials_workers
                 SELECT DISTINCT w.id FROM workers w JOIN leases l ON l.worker = w.id
                 WHERE w.credential = $1 AND l.ended_at IS NULL ORDER BY w.id",
            )
            .bind(id)
            .fetch_all(&mut *tx)
            .await?;
            Ok(workers)
        });
        for worker in workers.await? {
            self.forfeit(&worker).await?;
        }
        Ok(true)
    }

    async fn mark_revoked(&self, id: &str, actor: &str) -> Result<bool, LedgerError> {
        self.write(|mut tx, again| async move {
            let at = now(&mut tx).await?;
            let revoked = sqlx::query(
                "-- credentials_revoke
                 UPDATE credentials SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL",
            )
            .bind(id)
            .bind(at)
            .execute(&mut *tx)
            .await?;
            if revoked.rows_affected() == 0 {
                // An earlier attempt of the same operation may have done it.
                return Ok((tx, again));
            }
            let deed = Deed {
                at,
                campaign: None,
                actor,
                action: "revoke",
                note: &format!("credential {id}"),
            };
            write_deed(&mut tx, deed).await?;
            Ok((tx, true))
        })
        .await
    }
}

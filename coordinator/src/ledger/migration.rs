//! Migrations as both databases apply them: in the binary, in their order, each once, append-only.

/// A migration's timestamp, name and text.
pub(super) struct Migration {
    pub(super) version: i64,
    pub(super) name: &'static str,
    pub(super) sql: &'static str,
}

/// What a migration met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Schema {
    /// This build knows it whole.
    Known,
    /// It holds a migration of a later build; nothing was changed.
    Newer(i64),
}

/// Whether these are all the migrations that a database had, and maybe more.
pub(super) fn compare(known: &[Migration], applied: &[i64]) -> Schema {
    applied
        .iter()
        .find(|version| known.iter().all(|known| known.version != **version))
        .map_or(Schema::Known, |&version| Schema::Newer(version))
}

/// The files that a folder of `migrations/` must hold, and no others.
#[cfg(test)]
pub(super) fn assert_folder(known: &[Migration], folder: &str) {
    let folder = format!("{}/../migrations/{folder}", env!("CARGO_MANIFEST_DIR"));
    let mut found: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    found.sort();
    let known: Vec<String> = known
        .iter()
        .map(|migration| format!("{}_{}.sql", migration.version, migration.name))
        .collect();
    assert_eq!(found, known);
}

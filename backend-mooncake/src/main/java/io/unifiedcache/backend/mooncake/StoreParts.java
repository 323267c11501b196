package io.unifiedcache.backend.mooncake;

/**
 * The parts of a store that move objects.
 *
 * @param client Mooncake's client
 * @param registrations the memory it knows
 * @param staging memory to copy through
 * @param window what may be moved at once
 * @param quarantine the memory that it may still be at
 * @param removals the objects that were removed from under readers
 * @param onlyRegistered whether it moves registered memory only
 */
record StoreParts(
    MooncakeClient client,
    Registrations registrations,
    Staging staging,
    Window window,
    Quarantine quarantine,
    Removals removals,
    boolean onlyRegistered) {}

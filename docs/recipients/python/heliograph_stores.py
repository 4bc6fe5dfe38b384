"""Stores that remember which events had their effect.

`once` returns "processed", "seen" (nothing ran), "busy" (another copy runs now) or "full" (no room to remember one more).
"""

import sqlite3
import threading
import time
from contextlib import closing, suppress

# A day at least; the default is longer than the sender retries.
REMEMBERED_SECONDS = 8 * 86_400
_STARTED = time.time() - time.monotonic()


def _steady():
    """Unix seconds that no step of the wall clock moves."""
    return _STARTED + time.monotonic()


class MemoryStore:
    """Remembers events in one process, until it ends: for tests, and for effects that end with the process."""

    def __init__(self, entries_max=1_000_000, now=_steady):
        self._entries_max, self._now = entries_max, now
        self._records, self._running, self._lock = {}, set(), threading.Lock()

    def find(self, event_id):
        record = self._records.get(f"idempotency:event:{event_id}")
        return record if record and self._now() - record["processed_at"] < REMEMBERED_SECONDS else None

    def once(self, event_id, version, effect):
        key = f"idempotency:event:{event_id}"
        with self._lock:
            if (self.find(event_id) or {}).get("status") == "ok":
                return "seen"
            if key in self._running:
                return "busy"
            self._drop_old()
            if len(self._records) + len(self._running) >= self._entries_max:
                return "full"
            self._running.add(key)
        status = "error"
        try:
            effect(None)
            status = "ok"
        finally:
            with self._lock:
                self._running.discard(key)
                self._records.pop(key, None)
                self._records[key] = {"status": status, "processed_at": self._now(), "handler_version": version}
        return "processed"

    def _drop_old(self):
        # In order of time, since marking moves a record to the end.
        for key, record in list(self._records.items()):
            if self._now() - record["processed_at"] < REMEMBERED_SECONDS:
                return
            del self._records[key]


class SqliteStore:
    """Remembers events in an SQLite file. The effect gets the connection, in the transaction that marks the event."""

    def __init__(self, path, now=time.time, busy_seconds=5):
        self._path, self._now, self._busy_seconds = path, now, busy_seconds
        with closing(self.connect()) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(
                "CREATE TABLE IF NOT EXISTS seen_events"
                " (key TEXT PRIMARY KEY, status TEXT NOT NULL, processed_at REAL NOT NULL, handler_version TEXT NOT NULL)"
            )
            connection.execute("CREATE INDEX IF NOT EXISTS seen_events_at ON seen_events (processed_at)")

    def find(self, event_id):
        with closing(self.connect()) as connection:
            return self._find(connection, event_id)

    def once(self, event_id, version, effect):
        with closing(self.connect()) as connection:
            try:
                # Takes the only write lock: another copy of the event waits, and then finds the mark.
                connection.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                if "locked" not in str(error):
                    raise
                return "busy"
            if (self._find(connection, event_id) or {}).get("status") == "ok":
                connection.execute("ROLLBACK")
                return "seen"
            try:
                effect(connection)
                self._mark(connection, event_id, "ok", version)
                connection.execute("COMMIT")
            except BaseException:
                # The record of a failure is information only, so it must not hide the failure.
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                    self._mark(connection, event_id, "error", version)
                raise
            return "processed"

    def connect(self):
        return sqlite3.connect(self._path, isolation_level=None, timeout=self._busy_seconds)

    def _find(self, connection, event_id):
        query = "SELECT status, processed_at, handler_version FROM seen_events WHERE key = ? AND processed_at > ?"
        key, since = f"idempotency:event:{event_id}", self._now() - REMEMBERED_SECONDS
        row = connection.execute(query, (key, since)).fetchone()
        return row and dict(zip(("status", "processed_at", "handler_version"), row))

    def _mark(self, connection, event_id, status, version):
        now, key = self._now(), f"idempotency:event:{event_id}"
        connection.execute("DELETE FROM seen_events WHERE processed_at <= ?", (now - REMEMBERED_SECONDS,))
        # A copy that waited for the lock may have succeeded since the rollback: its mark stays.
        connection.execute(
            "INSERT INTO seen_events VALUES (?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET status = excluded.status,"
            " processed_at = excluded.processed_at, handler_version = excluded.handler_version"
            " WHERE seen_events.status = 'error'",
            (key, status, now, version),
        )

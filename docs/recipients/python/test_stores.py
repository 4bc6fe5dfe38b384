"""Tests of the stores: an effect and its mark stand or fall together. Usage: python3 -m unittest"""

import multiprocessing
import os
import pathlib
import sqlite3
import tempfile
import threading
import unittest
from contextlib import closing

from heliograph_stores import REMEMBERED_SECONDS, MemoryStore, SqliteStore


def book(transaction):
    transaction.execute("INSERT INTO payouts VALUES (1)")


def book_and_die(path):
    def effect(transaction):
        book(transaction)
        os._exit(1)

    SqliteStore(path).once("evt_1", "1", effect)


class Stores(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = str(pathlib.Path(folder.name) / "payouts.db")
        self.store = SqliteStore(self.path, busy_seconds=30)
        with closing(self.store.connect()) as connection:
            connection.execute("CREATE TABLE payouts (id INTEGER)")

    def payouts(self):
        with closing(self.store.connect()) as connection:
            return connection.execute("SELECT count(*) FROM payouts").fetchone()[0]

    def test_concurrent_copies_have_one_effect(self):
        results, lock = [], threading.Lock()

        def copy():
            result = self.store.once("evt_1", "1", book)
            with lock:
                results.append(result)

        threads = [threading.Thread(target=copy) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(results), ["processed"] + ["seen"] * 7)
        self.assertEqual(self.payouts(), 1)

    def test_a_failed_effect_leaves_nothing_but_its_record(self):
        def fail(transaction):
            book(transaction)
            raise ValueError("no")

        with self.assertRaises(ValueError):
            self.store.once("evt_1", "1", fail)
        self.assertEqual((self.payouts(), self.store.find("evt_1")["status"]), (0, "error"))
        self.assertEqual(self.store.once("evt_1", "1", book), "processed")
        self.assertEqual((self.payouts(), self.store.find("evt_1")["status"]), (1, "ok"))

    def test_a_failure_leaves_the_mark_of_a_copy_that_succeeded_meanwhile(self):
        store, path = self.store, self.path

        class Connection(sqlite3.Connection):
            """Lets a copy run right after its rollback."""

            def execute(self, sql, *values):
                result = super().execute(sql, *values)
                if sql == "ROLLBACK":
                    store.connect = plain
                    copies.append(store.once("evt_1", "1", book))
                return result

        def fail(_):
            raise ValueError("no")

        copies, plain = [], store.connect
        store.connect = lambda: sqlite3.connect(path, isolation_level=None, factory=Connection)
        with self.assertRaises(ValueError):
            store.once("evt_1", "1", fail)
        self.assertEqual((copies, store.find("evt_1")["status"]), (["processed"], "ok"))
        self.assertEqual((store.once("evt_1", "1", book), self.payouts()), ("seen", 1))

    def test_a_locked_database_is_busy_and_a_read_only_one_an_error(self):
        store = SqliteStore(self.path, busy_seconds=0)
        with closing(store.connect()) as connection:
            connection.execute("BEGIN IMMEDIATE")
            self.assertEqual(store.once("evt_1", "1", book), "busy")
        store.connect = lambda: sqlite3.connect(f"file:{self.path}?mode=ro", uri=True, isolation_level=None)
        with self.assertRaisesRegex(sqlite3.OperationalError, "readonly"):
            store.once("evt_1", "1", book)

    def test_a_process_that_dies_in_an_effect_leaves_nothing(self):
        process = multiprocessing.get_context("spawn").Process(target=book_and_die, args=(self.path,))
        process.start()
        process.join()
        self.assertEqual((process.exitcode, self.payouts(), self.store.find("evt_1")), (1, 0, None))
        self.assertEqual(self.store.once("evt_1", "1", book), "processed")

    def test_records_end_after_their_time(self):
        now = [0.0]
        for store in (SqliteStore(self.path, now=lambda: now[0]), MemoryStore(now=lambda: now[0])):
            with self.subTest(type(store).__name__):
                now[0] = 0.0
                self.assertEqual(store.once("evt_2", "1", lambda _: None), "processed")
                now[0] = REMEMBERED_SECONDS - 1
                self.assertEqual(store.once("evt_2", "1", lambda _: None), "seen")
                now[0] = REMEMBERED_SECONDS
                self.assertEqual(store.once("evt_2", "1", lambda _: None), "processed")

    def test_memory_has_a_bound_and_knows_what_runs(self):
        store = MemoryStore(entries_max=1)
        results = []
        store.once("evt_1", "1", lambda _: results.append(store.once("evt_1", "1", lambda _: None)))
        results.append(store.once("evt_2", "1", lambda _: None))
        self.assertEqual(results, ["busy", "full"])


if __name__ == "__main__":
    unittest.main()

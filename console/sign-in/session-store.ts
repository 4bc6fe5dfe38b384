// The session that all tabs of this browser share: a token, and the key that it is bound to.
import type * as oauth from "oauth4webapi";

/** Where a session renews and revokes its tokens. */
export interface StoredIssuer {
  readonly server: oauth.AuthorizationServer;
  readonly isInsecure: boolean;
}

/** What is stored. Scripts can use the key but never read its private half, and the token is useless without it. */
export interface StoredSession {
  /** Tells sessions apart. */
  readonly id: string;
  readonly key: CryptoKeyPair;
  readonly clientId: string;
  readonly clockSkewSeconds: number;
  readonly access: string;
  readonly refresh?: string;
  /** End of the access token, Unix milliseconds; Infinity if unknown. */
  readonly endsMs: number;
  /** Undefined for the program on this machine. */
  readonly issuer?: StoredIssuer;
  /** Time of signing in, and of the last use by a person, Unix milliseconds. */
  readonly startedMs: number;
  readonly usedMs: number;
}

/** A session ends after this time without use. */
export const idleMsMax = 30 * 60_000;
/** A session ends after this time in any case. */
export const sessionMsMax = 12 * 3_600_000;

/** True if a stored session may still be used: it is young and in use, and its token is valid or can be renewed. */
export function isInForce(
  { startedMs, usedMs, endsMs, refresh }: Pick<StoredSession, "startedMs" | "usedMs" | "endsMs" | "refresh">,
  nowMs: number,
): boolean {
  // A clock that went back ends the session too: its age is unknown then.
  const isFresh = (ms: number, most: number): boolean => nowMs - ms < most && ms - nowMs < clockStepMsMax;
  const hasToken = refresh !== undefined || endsMs > nowMs;
  return hasToken && isFresh(usedMs, idleMsMax) && isFresh(startedMs, sessionMsMax);
}

const clockStepMsMax = 60_000;
const databaseName = "heliograph-console";
const storeName = "sessions";
const recordKey = "current";

/** The stored session; undefined without one that is in force, and in a browser that stores nothing. */
export async function readSession(nowMs: number): Promise<StoredSession | undefined> {
  const found: unknown = await transact("readonly", (store) => store.get(recordKey)).catch(() => undefined);
  if (!isStoredSession(found)) return undefined;
  if (isInForce(found, nowMs)) return found;
  await clearSession();
  return undefined;
}

/** Stores a session in place of the one before. @returns false in a browser that stores nothing */
export async function writeSession(session: StoredSession): Promise<boolean> {
  return transact("readwrite", (store) => store.put(session, recordKey)).then(
    () => true,
    () => false,
  );
}

/** Changes the stored session if it is still this one. */
export async function changeSession(id: string, change: Partial<StoredSession>): Promise<void> {
  await transact("readwrite", (store) => {
    const reading = store.get(recordKey);
    reading.onsuccess = (): void => {
      const found: unknown = reading.result;
      if (isStoredSession(found) && found.id === id) store.put({ ...found, ...change }, recordKey);
    };
    return reading;
  }).catch(() => undefined);
}

/** Deletes everything that the console stored in this browser. */
export async function clearSession(): Promise<void> {
  await transact("readwrite", (store) => store.clear()).catch(() => undefined);
  try {
    sessionStorage.clear();
    localStorage.clear();
  } catch {
    // A browser that denies storage has stored nothing.
  }
}

function isStoredSession(value: unknown): value is StoredSession {
  const { id, access, key, startedMs, usedMs } = (value ?? {}) as Partial<StoredSession>;
  const hasKey = key?.privateKey instanceof CryptoKey && !key.privateKey.extractable;
  return typeof id === "string" && typeof access === "string" && hasKey && [startedMs, usedMs].every(Number.isFinite);
}

async function transact(mode: IDBTransactionMode, use: (store: IDBObjectStore) => IDBRequest): Promise<unknown> {
  const database = await openDatabase();
  try {
    return await new Promise((resolve, reject) => {
      const transaction = database.transaction(storeName, mode);
      const request = use(transaction.objectStore(storeName));
      transaction.oncomplete = () => resolve(request.result);
      transaction.onerror = transaction.onabort = () => reject(transaction.error ?? new Error("not stored"));
    });
  } finally {
    database.close();
  }
}

function openDatabase(): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open(databaseName, 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore(storeName);
    opening.onsuccess = () => resolve(opening.result);
    opening.onerror = opening.onblocked = () => reject(opening.error ?? new Error("the database is blocked"));
  });
}

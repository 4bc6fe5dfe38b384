import type { NatsAccess } from "./nats-access.ts";
import { type ConnectionLog, newestCredentials, reasonOf, serversOf, tryCredentials } from "./dial.ts";
import { type CredentialChoice, userOf } from "./credentials.ts";

/** A connection whose credentials are followed. */
interface Followed {
  readonly access: NatsAccess;
  readonly choice: CredentialChoice;
  readonly log: ConnectionLog;
  /** False while the client makes a connection again. */
  readonly isConnected: () => boolean;
  readonly isEnding: () => boolean;
  /** Connects again without the loss of a message, by the choice's newest credentials. */
  readonly reconnect: () => Promise<void>;
}

/**
 * Looks once at the files and at the connection. New credentials that the server accepts are put in use; until it does,
 * the earlier ones stay. Without a connection, the look finds the cause, which the client does not report. Every look
 * logs its cause, and the log states each cause once per interval. Never rejects.
 */
export async function followCredentials(followed: Followed): Promise<void> {
  const { access, choice, log } = followed;
  if (followed.isEnding()) return;
  try {
    if (access.auth !== undefined) choice.offer(await newestCredentials(access));
  } catch (error) {
    log.warn({ reason: reasonOf(error) }, "NATS credentials not readable, the earlier ones stay in use");
  }
  if (!followed.isConnected()) await reportCause(followed);
  else if (choice.isPending()) await rotate(followed);
}

async function reportCause({ access, choice, log, isConnected }: Followed): Promise<void> {
  const user = userOf(choice.current());
  try {
    await tryCredentials(access, choice.current());
  } catch (error) {
    if (isConnected()) return;
    log.warn({ servers: serversOf(access), user, reason: reasonOf(error) }, "NATS unreachable, connection repeated");
  }
}

async function rotate({ access, choice, log, reconnect }: Followed): Promise<void> {
  const newest = choice.newest();
  const fields = { servers: serversOf(access), user: userOf(newest) };
  try {
    await tryCredentials(access, newest);
  } catch (error) {
    log.warn({ ...fields, reason: reasonOf(error) }, "NATS does not accept the new credentials, the earlier ones stay");
    return;
  }
  await reconnect();
  if (choice.isPending()) log.warn(fields, "NATS accepted the new credentials only once, the earlier ones are in use");
  else log.info(fields, "NATS credentials changed");
}

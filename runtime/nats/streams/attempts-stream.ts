import type { NatsConnectionHandle } from "../connection/connect.ts";
import { readStreamInfo } from "../messages/stream-info.ts";
import type { Layout } from "../layout.ts";
import { openHeaderScan } from "../messages/header-scan.ts";
import { publish, publishHeader } from "../messages/publish.ts";
import { readAt, readBatch, readEach, readLastOfTenants, readSize } from "../messages/stored-messages.ts";

/** `HG_ATTEMPTS`: every attempt for every event. A repeated append may store a record twice; readers count it once. */
export type AttemptsStream = ReturnType<typeof createAttemptsStream>;

/** Largest number of records that are read of one event. */
const recordsMax = 1_024;

/** Creates the access to the attempts stream. */
export function createAttemptsStream(handle: NatsConnectionHandle, layout: Layout) {
  const stream = layout.streams.attempts;
  return {
    /** @throws NoReplyError */
    append: (tenant: string, idhash: string, record: string) =>
      publish(handle, { subject: layout.attempts(tenant, idhash), payload: Buffer.from(record) }),
    /** Appends if there is no record yet. @throws NoReplyError */
    appendFirst: (tenant: string, idhash: string, record: string) => {
      const headers = { [publishHeader.expectedSubjectSequence]: "0" };
      return publish(handle, { subject: layout.attempts(tenant, idhash), payload: Buffer.from(record), headers });
    },
    /** Reads all records of an event from the leader. @throws NoReplyError */
    read: (tenant: string, idhash: string) => readEach(handle, stream, layout.attempts(tenant, idhash), recordsMax),
    /** Reads the sequence of the last record that was stored. */
    lastSeq: async () => (await readStreamInfo(handle, stream)).state.last_seq,
    /** Reads the oldest record of all. @throws NoReplyError */
    oldest: async () => {
      const { messages, firstSeq } = await readSize(handle, stream);
      return messages === 0 ? undefined : readAt(handle, stream, firstSeq);
    },
    /** Reads all records of all events in order, from a sequence on. @throws JetStreamApiError */
    follow: (seq: number) => {
      const subjects = [layout.filters.attempts];
      return openHeaderScan(handle, stream, { subjects, from: { seq }, withBodies: true });
    },
    /** Reads all records of an event from any replica, which may lag behind. */
    list: (tenant: string, idhash: string) =>
      readBatch(handle, stream, { subject: layout.attempts(tenant, idhash), countMax: recordsMax }),
    /** Reads the last record of each of these tenants (`*`: of all) from any replica. */
    lastOfEach: (tenants: readonly string[], idhash: string) =>
      readLastOfTenants(handle, stream, tenants, (tenant) => layout.attempts(tenant, idhash)),
  };
}

import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import { ApiError } from "../errors/api-error.ts";
import type { Bucket } from "../nats/streams/buckets.ts";
import type { Edit } from "./edited-config.ts";
import type { PreviewJob } from "./preview-job.ts";

/** The stored previews of all pods. */
export interface PreviewStore {
  /** Stores a preview with its edit. @throws ApiError `body_too_large`; Unanswered, or Error of the bucket */
  open(job: PreviewJob, edit: Edit): Promise<void>;
  save(job: PreviewJob): Promise<void>;
  get(id: string): Promise<PreviewJob | undefined>;
  edit(id: string): Promise<Edit | undefined>;
  /** Stores the final state and removes the edit. */
  close(job: PreviewJob): Promise<void>;
  /** Removes the marks of a preview whose state is gone. */
  forget(id: string): Promise<void>;
  /** Previews that have not ended, the oldest first, with their clients. */
  listOpen(): Promise<readonly OpenPreview[]>;
  /** Removes the oldest previews that have ended, if too many are stored. */
  makeSpace(): Promise<void>;
}

/** The entry of a preview that has not ended. */
export interface OpenPreview {
  readonly id: string;
  readonly client: string;
  readonly createdAt: string;
}

/** Of a compressed edit; its base64 fits into the smallest `max_payload` with room to spare. */
const editBytesMax = 640 * 1024;
/** Of an edit. A compressed one could be larger than the memory of a pod. */
const editTextMax = 8 * 1024 * 1024;
const storedMax = 32;
const prefix = { job: "job-", edit: "edit-", open: "open-" } as const;
const [compress, decompress] = [promisify(gzip), promisify(gunzip)];

/** The keys of the bucket are `job-<id>`, and until the end of the preview `edit-<id>` and `open-<id>`. */
export function createPreviewStore(bucket: Bucket): PreviewStore {
  const save = async (job: PreviewJob): Promise<void> =>
    void (await bucket.put(prefix.job + job.id, JSON.stringify(job)));
  const get = async (id: string): Promise<PreviewJob | undefined> => {
    const entry = await bucket.get(prefix.job + id);
    return entry === undefined ? undefined : (JSON.parse(entry.value) as PreviewJob);
  };
  const forget = async (id: string): Promise<void> => {
    await Promise.all([prefix.edit, prefix.open].map((start) => bucket.drop(start + id)));
  };
  const idsOf = async (start: string): Promise<readonly string[]> =>
    (await bucket.keys()).filter((key) => key.startsWith(start)).map((key) => key.slice(start.length));
  return {
    save,
    get,
    open: async (job, edit) => {
      const bytes = await compress(JSON.stringify(edit));
      if (bytes.byteLength > editBytesMax)
        throw new ApiError("body_too_large", "The edit is too large; preview fewer resources at a time.");
      await bucket.put(prefix.edit + job.id, bytes.toString("base64"));
      await save(job);
      const { id, client, createdAt } = job;
      await bucket.put(prefix.open + id, JSON.stringify({ id, client, createdAt } satisfies OpenPreview));
    },
    edit: async (id) => {
      const entry = await bucket.get(prefix.edit + id);
      if (entry === undefined) return undefined;
      const bytes = await decompress(Buffer.from(entry.value, "base64"), { maxOutputLength: editTextMax });
      return JSON.parse(bytes.toString()) as Edit;
    },
    close: async (job) => {
      await save(job);
      await forget(job.id);
    },
    forget,
    listOpen: async () => {
      const ids = await idsOf(prefix.open);
      const entries = await Promise.all(ids.map((id) => bucket.get(prefix.open + id)));
      const open = entries.flatMap((entry) => (entry === undefined ? [] : [JSON.parse(entry.value) as OpenPreview]));
      return open.toSorted((one, other) => one.createdAt.localeCompare(other.createdAt));
    },
    makeSpace: async () => {
      const ids = await idsOf(prefix.job);
      if (ids.length < storedMax) return;
      const open = new Set(await idsOf(prefix.open));
      const jobs = await Promise.all(ids.filter((id) => !open.has(id)).map(get));
      const ended = jobs.filter((job) => job !== undefined);
      const oldest = ended.toSorted((one, other) => one.createdAt.localeCompare(other.createdAt));
      await Promise.all(oldest.slice(0, storedMax / 2).map(({ id }) => bucket.drop(prefix.job + id)));
    },
  };
}

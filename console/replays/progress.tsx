// Parts of the pages of replays.
import type { Replay } from "../../api/replays.ts";
import type { JSX } from "preact";
import { formatNumber } from "../components/format.ts";

/** True while a replay continues, or its deliveries do. */
export function isGoingOn({ status, published, delivered, failed }: Replay): boolean {
  if (status === "queued" || status === "running") return true;
  return delivered + failed < published;
}

/** What a replay selects. While it reads its matches, those that were counted before its start. */
export function selectedBy({ status, expected = 0, matched }: Replay): number {
  return status === "queued" || status === "running" ? Math.max(expected, matched) : matched;
}

/** Of how many deliveries or dead letters the progress is. While matches are read, of all that it selects. */
export function progressTotal(replay: Replay): number {
  const { status, acknowledged, expected, matched, published } = replay;
  if (acknowledged !== undefined) return Math.max(expected ?? matched, acknowledged);
  return status === "queued" || status === "running" ? selectedBy(replay) : published;
}

/** What became of what a replay published, as a bar and in words. */
export function Progress({ replay }: { readonly replay: Replay }): JSX.Element {
  const { acknowledged, failed } = replay;
  const delivered = acknowledged ?? replay.delivered;
  const published = progressTotal(replay);
  const share = (count: number): string => `${published === 0 ? 0 : (count / published) * 100}%`;
  const said =
    acknowledged !== undefined
      ? `${formatNumber(acknowledged)} acknowledged of ${formatNumber(published)}`
      : `${formatNumber(delivered)} delivered, ${formatNumber(failed)} failed of ${formatNumber(published)}`;
  return (
    <div class="progress">
      <svg role="img" aria-label={said} width="100%" height="10">
        <rect class="phase-track" x="0" y="0" width="100%" height="10" />
        <rect class="progress-delivered" x="0" y="0" width={share(delivered)} height="10" />
        <rect class="progress-failed" x={share(delivered)} y="0" width={share(failed)} height="10" />
      </svg>
      <span class="quiet">{said}</span>
    </div>
  );
}

import { ApiError } from "../../errors/api-error.ts";
import type { ResolvedWindow } from "../request/window.ts";
import type { Query } from "./query.ts";

/** True when the same request at another time has the same window. A window that is rejected then is not the same. */
export function keepsWindow({ window, windowAt }: Pick<Query, "window" | "windowAt">, nowMs: number): boolean {
  return isSame(window, at(windowAt, nowMs));
}

function at(windowAt: Query["windowAt"], nowMs: number): ResolvedWindow | undefined {
  try {
    return windowAt(nowMs);
  } catch (error) {
    if (error instanceof ApiError) return undefined;
    throw error;
  }
}

function isSame(one: ResolvedWindow, other: ResolvedWindow | undefined): boolean {
  return (
    one.fromMs === other?.fromMs &&
    one.toMs === other.toMs &&
    one.stepSeconds === other.stepSeconds &&
    one.widthSeconds === other.widthSeconds &&
    one.downsample === other.downsample
  );
}

import type { ComponentType, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { PageEntry, PageProps } from "../page-entry.ts";
import { Empty } from "../components/empty.tsx";
import { Page } from "../components/page.tsx";
import { Skeleton } from "../components/reading.tsx";
import { matchPath, type PathParameters } from "../router/place.ts";
import { Link, useRouter } from "../router/router.tsx";

interface Found {
  readonly entry: PageEntry;
  readonly parameters: PathParameters;
}

const loaded = new WeakMap<PageEntry, ComponentType<PageProps>>();

interface OutletProps {
  readonly pages: readonly PageEntry[];
  /** False while the rights of the token are read: the code of the page is loaded meanwhile. */
  readonly isReady: boolean;
}

/** Shows the page of the address. Each page is loaded when it is first shown. */
export function Outlet({ pages, isReady }: OutletProps): JSX.Element {
  const { place } = useRouter();
  const found = findPage(pages, place.path);
  const [failed, setFailed] = useState<PageEntry | undefined>(undefined);
  const [, setLoaded] = useState(0);
  const entry = found?.entry;
  useEffect(() => {
    if (entry === undefined || loaded.has(entry)) return undefined;
    let isHere = true;
    entry.load().then(
      (component) => {
        loaded.set(entry, component);
        if (isHere) setLoaded((before) => before + 1);
      },
      () => isHere && setFailed(entry),
    );
    return () => {
      isHere = false;
    };
  }, [entry]);
  if (found === undefined) return <UnknownPage />;
  const Shown = isReady ? loaded.get(found.entry) : undefined;
  if (Shown !== undefined) return <Shown key={place.path} parameters={found.parameters} />;
  if (failed === found.entry) return <LostPage />;
  return <Skeleton what="the page" lines={8} />;
}

/** Loads the code of a page while the session starts. If that fails, the {@link Outlet} tries again and reports it. */
export function preloadPage(pages: readonly PageEntry[], path: string): void {
  const entry = findPage(pages, path)?.entry;
  entry?.load().then(
    (component) => loaded.set(entry, component),
    () => undefined,
  );
}

function findPage(pages: readonly PageEntry[], path: string): Found | undefined {
  for (const entry of pages) {
    const parameters = matchPath(entry.path, path);
    if (parameters !== undefined) return { entry, parameters };
  }
  return undefined;
}

function UnknownPage(): JSX.Element {
  return (
    <Page title="Page not found">
      <Empty
        title="No page has this address"
        why="Check the address. It may belong to another version of the console."
        next={<Link to="/">Go to Home</Link>}
      />
    </Page>
  );
}

/** Its file is gone since the server was updated, or the network is. */
function LostPage(): JSX.Element {
  return (
    <Page title="Page not loaded">
      <Empty
        title="The server did not return the code of this page"
        why="The network may be down, or the server was updated while the console was open."
        next={
          <button type="button" onClick={() => location.reload()}>
            Reload
          </button>
        }
      />
    </Page>
  );
}

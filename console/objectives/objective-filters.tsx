import type { Me } from "../../api/documents.ts";
import type { ComponentChildren, JSX } from "preact";
import { useSession } from "../api/session-context.ts";
import { Empty } from "../components/empty.tsx";
import { FilterForm, type FilterField } from "../components/filter-form.tsx";
import { Link, useQueryState } from "../router/router.tsx";

/** The tenants that a token names; undefined for all tenants and while they are unknown. */
function namedTenants(me: Me | undefined): readonly string[] | undefined {
  return me === undefined || me.tenants.includes("*") ? undefined : me.tenants;
}

/** Filters of objectives. Objectives are those of one tenant: without one the content is not asked for. */
export function ObjectiveFilters({ children }: { readonly children: () => ComponentChildren }): JSX.Element {
  const { me } = useSession();
  const { get } = useQueryState();
  const own = namedTenants(me);
  const isMissing = me !== undefined && get("tenant") === "" && own?.length !== 1;
  const tenant: FilterField =
    own === undefined
      ? { name: "tenant", label: "Tenant" }
      : { name: "tenant", label: "Tenant", kind: "select", options: own };
  return (
    <>
      <FilterForm
        fields={[
          tenant,
          { name: "domain", label: "Domain" },
          { name: "region", label: "Region" },
          { name: "environment", label: "Environment" },
        ]}
      />
      {isMissing ? <ChooseTenant tenants={own ?? []} /> : children()}
    </>
  );
}

function ChooseTenant({ tenants }: { readonly tenants: readonly string[] }): JSX.Element {
  const { to } = useQueryState();
  return (
    <Empty
      title="Choose a tenant"
      why="Objectives are counted for one tenant, and your token may see several."
      next={
        tenants.length === 0 ? (
          "Name it above."
        ) : (
          <span class="actions">
            {tenants.map((tenant) => (
              <Link key={tenant} to={to({ tenant })}>
                {tenant}
              </Link>
            ))}
          </span>
        )
      }
    />
  );
}

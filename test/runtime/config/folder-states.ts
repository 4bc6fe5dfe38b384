import { digestOf } from "../../../crds/compile/canonical-json.ts";
import { compile } from "../../../crds/compile/compile.ts";
import { allowAll } from "../../../crds/policy.ts";
import { validateResource } from "../../../crds/validate.ts";
import type { FolderState } from "../../../runtime/config/folder/folder-state.ts";
import { plainObject, type Changes } from "../../crds/valid-objects.ts";

/** The state of a folder that holds these partners and, unless told otherwise, the Secrets they sign with. */
export function stateOf(
  partners: Readonly<Record<string, Changes>>,
  options: { readonly withoutSecrets?: boolean; readonly kept?: readonly string[] } = {},
): FolderState {
  const resources = Object.entries(partners).map(([name, changes]) => {
    const object = plainObject("WebhookPartner", { "signing.keys[0].secretRef.name": name, ...changes }, name);
    const { resource, problems } = validateResource(object);
    if (resource === undefined) throw new Error(JSON.stringify(problems));
    return resource;
  });
  const key = (name: string) => Buffer.from(name.padEnd(40, "k")).toString("base64");
  const secrets = Object.keys(partners).map((name) => [`default/${name}`, { hmac: key(name) }] as const);
  const input = { resources, secrets: new Map(options.withoutSecrets === true ? [] : secrets), policy: allowAll };
  const { config, results } = compile(input);
  return {
    config,
    hash: digestOf(config),
    results,
    problems: [],
    warnings: [],
    kept: options.kept ?? [],
    files: new Map(),
  };
}

/** Where a demonstration serves. */
interface Place {
  readonly url: string;
  readonly adminUrl: string;
  readonly dataFolder: string;
  readonly tokenFile: string;
}

/** Lines for a shell, to be copied as they are. */
export function whatToTry({ url, adminUrl, dataFolder, tokenFile }: Place): string {
  return `# Heliograph serves ${url} until Ctrl-C. In another terminal, in the same folder:
export HELIOGRAPH_URL=${url} HELIOGRAPH_TOKEN_FILE=${quoted(tokenFile)}
npx heliograph open --data ${quoted(dataFolder)} --role metrics-finance
npx heliograph send payout.created --tenant lumen -d '{"payout_id":"mine"}' --wait
npx heliograph events list --since 1h
npx heliograph query deposits_success_pct --filter region=eu --group-by psp -o chart
npx heliograph slo
npx heliograph gate rate
curl -s ${adminUrl}/healthz
`;
}

/** One word for a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

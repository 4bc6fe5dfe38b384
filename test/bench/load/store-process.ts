import "./end-with-bench.ts";
import { healthyProbe, startScriptedStore, success, type StoreReply } from "../../runtime/stores/scripted-store.ts";

/** A store in a process of its own: 50 services of everything; what is asked of payments takes it a while. */

const services = Array.from({ length: 50 }, (_, index) => `s${String(index).padStart(2, "0")}`);
const heavyMs = 100;
const known = new Map<string, string>();

const reply: StoreReply = (response, request) => {
  const query = request.form.get("query") ?? "";
  if (request.path.endsWith("/query")) {
    return success({ resultType: "vector", result: [{ metric: {}, value: [0, String(Date.now() / 1_000 - 10)] }] })(
      response,
      request,
    );
  }
  const key = request.form.toString();
  const body = known.get(key) ?? matrixOf(request.form, query);
  known.set(key, body);
  const answer = (): void => void response.writeHead(200, { "content-type": "application/json" }).end(body);
  if (query.includes("payments")) setTimeout(answer, heavyMs);
  else answer();
};

function matrixOf(form: URLSearchParams, query: string): string {
  const [start, end, step] = ["start", "end", "step"].map((name) => Number(form.get(name))) as [number, number, number];
  const times = Array.from({ length: Math.round((end - start) / step) + 1 }, (_, index) => start + index * step);
  const rows = query.includes("by(service)") ? services.map((service) => ({ service })) : [{}];
  const result = rows.map((metric, row) => ({
    metric,
    values: times.map((time, index) => [time, String(((index * 7 + row * 13) % 101) + 0.25)]),
  }));
  return JSON.stringify({ status: "success", data: { resultType: "matrix", result } });
}

process.on("message", () => {
  void startScriptedStore(healthyProbe(reply)).then(({ url }) => process.send?.(url));
});

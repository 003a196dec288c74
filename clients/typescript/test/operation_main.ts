// A process with one operation, to be killed: operation_main.js URL FOLDER NAME
import { Client } from "@oncekey/client";
import { FileKeys } from "@oncekey/client/node";

const [url, folder, name] = process.argv.slice(2) as [string, string, string];
const client = new Client({ keys: new FileKeys(folder), backoffMs: 10, backoffMaxMs: 50, attemptsMax: 1000 });
const result = await client.run(url, { method: "POST", body: "{}", headers: { "X-Process": `${process.pid}` } }, { name });
console.log(JSON.stringify({ outcome: result.outcome, key: result.key, attempts: result.attempts }));

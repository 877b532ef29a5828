/** Program: a worker under faults; the harness builds and starts it (see faults/worker.ts). */
import { serveWorker, type WorkerSpec } from './faults/worker.ts';

await serveWorker(JSON.parse(process.argv[2] ?? '') as WorkerSpec);

import { parentPort, workerData } from 'node:worker_threads';
import { describe, SitewardError } from '#errors.ts';
import { crashPoint } from '#lib/crash-point.ts';
import { workComes } from '#lib/thread-ahead.ts';
import { Chores } from './chores.ts';
import { Engine } from './engine.ts';
import { Files } from './files.ts';
import { Inbox } from './inbox.ts';
import { isRead } from './operations.ts';
import type { FromWorker, StoreReply, StoreRequest, ToWorker, WorkerData } from './protocol.ts';
import type { Note } from './quiet.ts';

const sweepPauseMs = 20;

/** The thread that owns both database files. Nothing else opens them. */
function run(port: NonNullable<typeof parentPort>, data: WorkerData): void {
  const post = (message: FromWorker) => port.postMessage(message);
  const note: Note = (level, text, facts) => post({ kind: 'note', level, text, facts });
  const files = new Files({ data, note, wall: Date.now });
  const engine = new Engine(files, data.limits);
  const inbox = new Inbox(port, data.sent);
  let flush: NodeJS.Timeout | undefined;
  let sweep: NodeJS.Timeout | undefined;
  try {
    post({ kind: 'opened', ...engine.open(), files: files.states() });
  } catch (error) {
    const code = error instanceof SitewardError ? error.code : 'store_unavailable';
    const facts = error instanceof SitewardError ? error.facts : {};
    post({ kind: 'refused', failure: { code, message: describe(error), facts } });
    port.close();
    return;
  }

  const chores = new Chores({
    files,
    carefulMs: data.limits.carefulMs,
    restAfterMs: data.limits.restAfterMs,
    follow: (name) => engine.follow(name),
    failed: (error, name) => engine.failed(error, name),
  });
  let chore = setTimeout(work, 0);
  let look = setTimeout(tend, data.limits.firstLookMs);

  port.on('message', (message: ToWorker) => {
    inbox.put(message);
    do group(inbox.all());
    while (!inbox.isEmpty);
    if (inbox.close !== undefined) stop(inbox.close);
    else if (engine.inputsWait) flush ??= setTimeout(flushInputs, data.limits.inputDelayMs);
  });

  /** What queued up during the last commit forms the next group; no timer is needed for that. */
  function group(requests: StoreRequest[]): void {
    if (requests.length === 0) return;
    const writes = requests.filter((request) => !isRead(request));
    if (writes.length > 0) chores.touch();
    if (writes.length > 0) answer(engine.write(writes, inbox));
    if (writes.length < requests.length) {
      for (const request of requests) if (isRead(request)) answer([engine.read(request)]);
    }
    // After the answers: figures must not hold up whoever waits.
    post({ kind: 'report', report: engine.report() });
  }

  function answer(all: StoreReply[]): void {
    const done: number[] = [];
    const replies: StoreReply[] = [];
    for (const reply of all) {
      if (reply.ok && reply.value === undefined) done.push(reply.id);
      else replies.push(reply);
    }
    post({ kind: 'replies', done, replies });
    crashPoint('commit.answered');
  }

  /** The next slice of what is done between commits. */
  function work(): void {
    chore = setTimeout(work, chores.step());
    if (files.mending.hasNews) post({ kind: 'report', report: engine.report() });
  }

  function flushInputs(): void {
    flush = undefined;
    engine.flushInputs();
    post({ kind: 'report', report: engine.report() });
  }

  function tend(): void {
    look = setTimeout(tend, data.limits.lookEveryMs);
    engine.tend();
    sweep ??= setTimeout(relieve, sweepPauseMs);
    post({ kind: 'report', report: engine.report() });
  }

  /** Between two chunks whoever waits has a turn. */
  function relieve(): void {
    sweep = engine.relieve() ? setTimeout(relieve, sweepPauseMs) : undefined;
    post({ kind: 'report', report: engine.report() });
  }

  function stop(maxSeq: number): void {
    for (const timer of [flush, look, sweep, chore]) clearTimeout(timer);
    engine.close(maxSeq);
    port.close();
  }
}

const port = parentPort;
if (workerData === workComes) port?.once('message', (data: WorkerData) => run(port, data));
else if (port !== null) run(port, workerData);

import { closeSync, existsSync, mkdirSync, openSync, readdirSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '#sandbox/demo/processes.ts';
import type { Lane } from '#site/model/index.ts';
import type { Random } from '../random.ts';
import type { GapsSeen, Quiet } from './box-answers.ts';
import { type Box, startBox } from './box-process.ts';
import type { BoxOptions, Command } from './box-protocol.ts';
import type { Disk } from './disk.ts';
import type { Ending, Entry } from './history.ts';
import type { Stage } from './stage.ts';
import { faults, keyOfBurst, type Plan, paths, type Step } from './steps.ts';

const page = 4096;
/** Wall clock of a machine that starts without a clock of its own. */
const year1970 = 10_000;
/** A salvage that a full disk has stopped, or a file that could not be opened, is tried again every five seconds. */
const standstillMs = 30_000;

/** One box, its disk, its line and its cloud; steps change them. Entries are what was seen. */
export class World {
  readonly entries: Entry[] = [];
  readonly sizes: Record<string, number> = {};
  readonly #stage: Stage;
  readonly #plan: Plan;
  readonly #disk: Disk;
  readonly #random: Random;
  #box: Box | undefined;
  #tokens = 0;
  #boots = 1;
  #skippedMs = 0;
  #wallErrorMs = 0;
  #monoOffsetMs = 0;
  #full = false;
  #cutAtMs = 0;

  constructor(options: { stage: Stage; plan: Plan; disk: Disk; random: Random }) {
    this.#stage = options.stage;
    this.#plan = options.plan;
    this.#disk = options.disk;
    this.#random = options.random;
  }

  get box(): Box {
    if (this.#box === undefined) throw new Error('the box is not running');
    return this.#box;
  }

  async start(): Promise<void> {
    const { stage, dir } = { stage: this.#stage, dir: this.#disk.dir };
    const options: BoxOptions = {
      dir,
      cloudUrl: stage.line.url,
      keyFile: stage.keyFile,
      clientId: stage.clientId,
      boot: `boot-${this.#plan.seed}-${this.#boots}`,
      monoOffsetMs: this.#monoOffsetMs,
      wallOffsetMs: this.#skippedMs,
      wallErrorMs: this.#wallErrorMs,
      limits: {
        ...{ lookEveryMs: 300, firstLookMs: 100, carefulMs: 500, keepAlarms: 20 },
        ...(this.#plan.bulkBytes !== undefined && { bulkBytes: this.#plan.bulkBytes }),
      },
    };
    this.#box = await startBox(options, (entry) => this.entries.push(entry));
  }

  async end(how: Ending): Promise<void> {
    const box = this.box;
    let clean = false;
    if (how === 'stop') clean = await box.stop();
    else await box.kill();
    this.#box = undefined;
    this.entries.push({ what: 'end', how, clean });
    this.measure();
  }

  async step(index: number, step: Step): Promise<void> {
    this.entries.push({ what: 'step', index, step });
    await this.#do(step);
    await pause(this.#random.between(0, 30));
    this.measure();
    const seen = await this.box.ask<GapsSeen>('gaps').catch((error: unknown) => this.#unlessFull(error));
    if (seen !== undefined) this.entries.push({ what: 'gaps', ...seen });
  }

  /** A file that could not be opened on a full disk answers nothing; anything else is a defect. */
  #unlessFull(error: unknown): undefined {
    if (!this.#full) throw error;
    return undefined;
  }

  async #do(step: Step): Promise<void> {
    switch (step.do) {
      case 'put':
        return void this.#put(step);
      case 'burst':
        for (let n = 0; n < step.count; n += 1)
          this.#put({ lane: step.lanes[n % step.lanes.length] ?? 'alarm', key: keyOfBurst(n) });
        return;
      case 'cut':
        return this.#cut(step.how);
      case 'restore':
        return this.restore();
      case 'fault':
        return this.#plant(step);
      case 'clearFaults':
        return void (await this.#stage.cloud.control('faults', { method: 'DELETE' }));
      case 'revoke':
        return void (await this.#stage.cloud.control('revoke', { method: 'POST' }));
      case 'park':
        return this.#park();
      case 'retryParked':
      case 'dropParked':
        return void (await this.#onParked(step.do));
      case 'skip':
        return this.skip(step.ms);
      case 'clock':
        return this.#setClock(step.ms);
      case 'freeze':
        return this.#freeze(step.who, step.puts);
      case 'kill':
        await this.end('kill');
        return this.start();
      case 'restart':
        await this.end('stop');
        return this.start();
      case 'restartCloud':
        return this.#restartCloud();
      case 'power':
        return this.#power(step.at1970);
      case 'full':
        return this.#fill(true);
      case 'free':
        return this.#fill(false);
      case 'corrupt':
        return this.#corrupt(step);
      case 'idle':
        return this.#idle();
    }
  }

  #put(what: { lane: Lane; key: string; media?: boolean; silent?: boolean }): number {
    this.#tokens += 1;
    const { lane, key, media = false, silent = false } = what;
    this.box.send({ do: 'put', token: this.#tokens, lane, key, media, silent });
    return this.#tokens;
  }

  async #cut(how: 'refused' | 'reset'): Promise<void> {
    if (this.#stage.cable.isCut) return;
    await this.#stage.cable.cut(how);
    this.#cutAtMs = this.#nowMs();
  }

  async restore(): Promise<void> {
    if (!this.#stage.cable.isCut) return;
    const connects = await this.#stage.cable.restore();
    this.entries.push({ what: 'offline', connects, boxMs: this.#nowMs() - this.#cutAtMs });
    this.box.send({ do: 'linkUp' });
  }

  #nowMs(): number {
    return performance.now() + this.#skippedMs;
  }

  async #plant({ on, fault, count }: Extract<Step, { do: 'fault' }>): Promise<void> {
    const body = { path: paths[on], mode: 'status', when: 'before', count, ...faults[fault] };
    await this.#stage.cloud.control('faults', { method: 'POST', body });
  }

  /** Time passes for the cloud first, so that the box never knows a later time than the cloud does. */
  async skip(ms: number): Promise<void> {
    this.#skippedMs += ms;
    this.#monoOffsetMs += ms;
    // What the cloud's clock says in an answer between the two moves would be wrong by all that passed.
    await this.box.ask('deaf');
    await this.#tellTime();
    this.box.send({ do: 'skip', ms });
  }

  async #tellTime(): Promise<void> {
    await this.#stage.cloud.control('clock', { method: 'POST', body: { offset_s: this.#skippedMs / 1000 } });
  }

  #setClock(ms: number): void {
    this.#wallErrorMs = ms;
    this.box.send({ do: 'clock', ms });
    this.entries.push({ what: 'clockStep', ms });
  }

  /** While one side stands still, the other goes on: what is put meanwhile is stored all the same. */
  async #freeze(who: 'cloud' | 'box', puts: number): Promise<void> {
    const pid = who === 'box' ? this.box.pid : this.#stage.cloud.pid;
    if (pid === undefined) return;
    process.kill(pid, 'SIGSTOP');
    const tokens = Array.from({ length: puts }, (_, n) =>
      this.#put({ lane: n % 2 === 0 ? 'alarm' : 'activity', key: keyOfBurst(n) }),
    );
    this.entries.push({ what: 'frozen', who, tokens });
    try {
      if (who === 'cloud' && !this.#full) await this.#acked(tokens);
      else await pause(this.#random.between(50, 300));
    } finally {
      this.entries.push({ what: 'thawed' });
      process.kill(pid, 'SIGCONT');
    }
  }

  /** Waits, within a bound, for acknowledgements; whether they came is for the invariants to say. */
  async #acked(tokens: readonly number[]): Promise<void> {
    const missing = () => tokens.filter((token) => !this.entries.some((e) => e.what === 'acked' && e.token === token));
    const all = () => (missing().length === 0 ? true : undefined);
    await eventually('acknowledgements', all, { timeoutMs: 20_000, everyMs: 20 }).catch(() => undefined);
  }

  async #restartCloud(): Promise<void> {
    if (this.#stage.cable.isCut) return;
    await this.#stage.cloud.restart();
    await this.#tellTime();
  }

  async #power(at1970: boolean): Promise<void> {
    this.#disk.losePower();
    await this.end('power');
    this.#disk.mount();
    this.#setFull(false);
    this.#boots += 1;
    // The monotonic clock of the new boot begins near zero.
    this.#monoOffsetMs = -Number(process.hrtime.bigint() / 1_000_000n) + 5_000;
    this.#wallErrorMs = at1970 ? year1970 - Date.now() - this.#skippedMs : 0;
    await this.start();
  }

  #fill(full: boolean): void {
    if (full) this.#disk.fill();
    else this.#disk.free();
    this.#setFull(full);
  }

  #setFull(full: boolean): void {
    if (full === this.#full) return;
    this.#full = full;
    this.entries.push({ what: 'disk', full });
  }

  async #corrupt({ file, place, clean }: Extract<Step, { do: 'corrupt' }>): Promise<void> {
    await this.end(clean ? 'stop' : 'kill');
    const path = join(this.#disk.dir, `${file}.db`);
    const pages = existsSync(path) ? Math.floor(statSync(path).size / page) : 0;
    if (pages > 0) {
      const handle = openSync(path, 'r+');
      writeSync(handle, Buffer.alloc(page), 0, page, Math.floor(place * pages) * page);
      closeSync(handle);
    }
    this.entries.push({ what: 'end', how: 'corrupt', clean: false });
    await this.start();
  }

  /** Every event that is sent is refused, until one is parked. */
  async #park(): Promise<void> {
    if (this.#stage.cable.isCut || this.#full) return;
    const body = { path: paths.events, mode: 'status', status: 422, count: -1 };
    await this.#stage.cloud.control('faults', { method: 'POST', body });
    this.#put({ lane: this.#random.pick(['alarm', 'activity'] as const), key: 'p1' });
    for (let tries = 0; tries < 8; tries += 1) {
      await pause(60);
      if ((await this.box.ask<{ parked: number }>('stats')).parked > 0) break;
      await this.skip(61_000);
    }
    await this.#stage.cloud.control('faults', { method: 'DELETE' });
  }

  async #onParked(what: 'retryParked' | 'dropParked'): Promise<void> {
    const { parked } = await this.box.ask<{ parked: readonly { seq: number }[] }>('look');
    const seqs = parked.slice(0, what === 'dropParked' ? 1 : undefined).map(({ seq }) => seq);
    // On a full disk it may fail; the events stay parked then.
    if (seqs.length > 0) await this.box.ask(what, seqs).catch(() => undefined);
  }

  /** Watches the files over failed tries, with nothing left to write. */
  async #idle(): Promise<void> {
    if (this.#full) return;
    const wasCut = this.#stage.cable.isCut;
    await this.#cut('reset');
    const tries = () => this.entries.filter((entry) => entry.what === 'posted').length;
    let seen = { tries: 0, changed: [] as string[] };
    // What was put off comes to an end; what each try writes comes with every round.
    for (let round = 0; round < 4; round += 1) {
      await this.#writesEnd();
      const [before, from] = [this.#fingerprint(), tries()];
      for (let n = 0; n < 6 && tries() - from < 3; n += 1) {
        await this.skip(61_000);
        await pause(40);
      }
      seen = { tries: tries() - from, changed: changes(before, this.#fingerprint()) };
      if (seen.changed.length === 0) break;
    }
    this.entries.push({ what: 'idle', ...seen });
    if (!wasCut) await this.restore();
  }

  /** Nothing was written for a while: the pictures and verdicts under way are on disk. */
  async #writesEnd(): Promise<void> {
    let last = '';
    let since = performance.now();
    const still = () => {
      const now = JSON.stringify([...this.#fingerprint()]);
      if (now !== last) since = performance.now();
      last = now;
      return performance.now() - since > 500 ? true : undefined;
    };
    await eventually('the files stand still', still, { timeoutMs: 20_000, everyMs: 50 });
  }

  /** Size and time of each file of the state directory; the shared memory of SQLite is no file on the card. */
  #fingerprint(): Map<string, string> {
    const found = new Map<string, string>();
    for (const name of this.files()) {
      const stat = statSync(join(this.#disk.dir, name), { throwIfNoEntry: false });
      if (stat?.isFile() === true) found.set(name, `${stat.size} ${stat.mtimeMs}`);
    }
    return found;
  }

  /** Every file below the state directory but SQLite's shared memory. */
  files(): string[] {
    mkdirSync(this.#disk.dir, { recursive: true });
    return readdirSync(this.#disk.dir, { recursive: true, encoding: 'utf8' }).filter((name) => !name.endsWith('-shm'));
  }

  /**
   * Both files are open, were read as a whole, and all that was put aside has been read to its end. A slow disk may take long
   * for it; what counts is that it goes on, and every slice of it is written.
   */
  async whole(): Promise<void> {
    let last = '';
    let since = performance.now();
    const seen = async () => {
      if ((await this.box.ask<Quiet>('quiet')).isWhole) return 'whole';
      const now = JSON.stringify([...this.#fingerprint()]);
      if (now !== last) since = performance.now();
      last = now;
      return performance.now() - since > standstillMs ? 'standing' : undefined;
    };
    const found = await eventually('the end of all salvage', seen, { timeoutMs: 120_000, everyMs: 50 });
    if (found === 'standing') throw new Error(`the salvage stands still: ${last}`);
  }

  /** Keeps the largest size of each database file and log. */
  measure(): void {
    for (const name of ['site.db', 'bulk.db', 'site.db-wal', 'bulk.db-wal']) {
      const size = statSync(join(this.#disk.dir, name), { throwIfNoEntry: false })?.size ?? 0;
      this.sizes[name] = Math.max(this.sizes[name] ?? 0, size);
    }
  }

  /** Everything that hinders is gone; the box has every reason to send. */
  async calm(): Promise<void> {
    this.entries.push({ what: 'step', index: -1, step: { do: 'clearFaults' } });
    await this.#stage.cloud.control('faults', { method: 'DELETE' });
    await this.#fill(false);
    await this.restore();
  }

  send(command: Command): void {
    this.box.send(command);
  }

  async close(): Promise<void> {
    await this.#box?.kill();
    this.#box = undefined;
    if (this.#stage.cable.isCut) await this.#stage.cable.restore();
  }
}

function changes(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): string[] {
  const names = new Set([...before.keys(), ...after.keys()]);
  return [...names].filter((name) => before.get(name) !== after.get(name)).sort();
}

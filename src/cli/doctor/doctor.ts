import { resolve } from 'node:path';
import { describe, SitewardError } from '#errors.ts';
import { version } from '#lib/version.ts';
import { withDeadline } from '#lib/wait.ts';
import { counted, printable } from '../table.ts';
import { untilStopped } from '../until-stopped.ts';
import { databaseCheck, diskCheck, memoryCheck, temperatureCheck } from './box.ts';
import { brokerCheck } from './broker.ts';
import { certificatesCheck } from './certificates.ts';
import { clockCheck } from './clock.ts';
import { devicesCheck, namesCheck, reachCheck, siteCheck, tokenCheck } from './cloud.ts';
import { configCheck } from './config.ts';
import { daemonCheck, troublesCheck } from './daemon.ts';
import { camerasCheck, panelsCheck, speakersCheck } from './devices.ts';
import { type Check, type Finding, type FindingState, failed } from './finding.ts';
import { openScene, type Scene } from './scene.ts';

/** In the order in which one follows from the other. */
export const checks: readonly Check[] = [
  ...[configCheck, daemonCheck, troublesCheck],
  ...[clockCheck, diskCheck, databaseCheck, memoryCheck, temperatureCheck],
  ...[namesCheck, reachCheck, tokenCheck, siteCheck, devicesCheck],
  ...[brokerCheck, certificatesCheck, panelsCheck, camerasCheck, speakersCheck],
];

export interface DoctorOptions {
  readonly config: string;
  readonly socket: string;
  readonly json: boolean;
  /** Ids of checks; all without one. */
  readonly only: readonly string[];
}

/** 0: all is well, 1: warnings, 2: something does not work. */
export type DoctorExit = 0 | 1 | 2;

const usualPatienceMs = 15_000;

/** `siteward doctor`: looks at everything siteward needs, with the daemon up or down; each line as soon as it is known. */
export async function doctor(options: DoctorOptions): Promise<DoctorExit> {
  for (const id of options.only)
    if (!checks.some((check) => check.id === id))
      throw new SitewardError(
        'request_invalid',
        `there is no check ${printable(id)}; there are ${checks.map((check) => check.id).join(', ')}`,
      );
  using stopped = untilStopped();
  const asked = checks.filter(({ id }) => options.only.length === 0 || options.only.includes(id));
  const report = await lookAtAll(
    { file: resolve(options.config), socket: options.socket },
    stopped.signal,
    asked,
    (one) => {
      if (!options.json) for (const line of linesOf(one.check, one.findings)) console.log(line);
    },
  );
  const all = report.flatMap(({ findings }) => findings);
  const count = (state: FindingState) => all.filter((one) => one.state === state).length;
  const [failures, warnings] = [count('failed'), count('warning')];
  if (options.json) console.log(JSON.stringify(documentOf(report, { failures, warnings })));
  else console.log(`\n${conclusion(failures, warnings)}`);
  return failures > 0 ? 2 : warnings > 0 ? 1 : 0;
}

export interface Looked {
  readonly check: Check;
  readonly findings: readonly Finding[];
}

/** Looks at everything, one thing after the other; `told` gets each as soon as it is known. */
export async function lookAtAll(
  at: { readonly file: string; readonly socket: string },
  signal: AbortSignal,
  asked: readonly Check[] = checks,
  told: (looked: Looked) => void = () => undefined,
): Promise<readonly Looked[]> {
  const scene = await openScene(at, signal);
  try {
    const all: Looked[] = [];
    for (const check of asked) {
      const one = { check, findings: await looked(check, scene, signal) };
      told(one);
      all.push(one);
    }
    return all;
  } finally {
    await scene.daemon.control?.[Symbol.asyncDispose]();
  }
}

/** A check that comes to no end, or fails itself, is a finding too: the others go on. */
async function looked(check: Check, scene: Scene, signal: AbortSignal): Promise<readonly Finding[]> {
  const { id, title, patienceMs = usualPatienceMs } = check;
  try {
    return await withDeadline(patienceMs, signal, async (soon) => check.look(scene, soon), `looking at ${title}`);
  } catch (error) {
    signal.throwIfAborted();
    return [
      failed({
        seen: `it could not be looked at: ${describe(error)}`,
        means: 'how it is nobody knows',
        advice: `try it again alone: "siteward doctor ${id}"`,
      }),
    ];
  }
}

/** A library may say more than a line can hold; `--json` has all of it. */
const short = (text: string): string => (text.length <= mostWords ? text : `${text.slice(0, mostWords)}...`);
const mostWords = 400;

const marks: Readonly<Record<FindingState, string>> = { ok: '✓', warning: '!', failed: '✗', skipped: '-' };

function linesOf({ title }: Check, findings: readonly Finding[]): readonly string[] {
  return findings.flatMap(({ state, subject, seen, means, advice = [] }) => [
    `${marks[state]} ${title}${subject === undefined ? '' : ` (${printable(subject)})`}: ${short(printable(seen))}`,
    ...(means === undefined ? [] : [`    ${printable(means)}`]),
    ...advice.map((line) => `  → ${printable(line)}`),
  ]);
}

const conclusion = (failures: number, warnings: number): string =>
  failures === 0 && warnings === 0
    ? 'All is well.'
    : `${counted(failures, 'failure')}, ${counted(warnings, 'warning')}; what to do stands behind →.`;

const documentOf = (report: readonly Looked[], sums: { failures: number; warnings: number }) => ({
  version,
  ok: sums.failures === 0,
  ...sums,
  checks: report.map(({ check: { id, title }, findings }) => ({ id, title, findings })),
});

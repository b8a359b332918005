import {
  type CloudDevice,
  cloudDeviceList,
  type DevicePlanShown,
  type DevicesSynced,
  devicePlan,
  devicesSynced,
} from '#lan/http/index.ts';
import { answered, cloudPatience, openControl, patience } from '../control.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { counted, printable, table } from '../table.ts';
import { heldLines, planLines } from './device-words.ts';

interface Options {
  readonly json: boolean;
  readonly socket: string;
}

/** `siteward device plan`: 0 where the cloud knows the devices as they are, else 1. */
export async function plan({ json, socket }: Options): Promise<ExitCode> {
  await using control = openControl(socket);
  const answer = answered(await control.client.getDevicePlan(cloudPatience()));
  const found = devicePlan.parse(answer.json);
  console.log(json ? answer.text : planLines(found).join('\n'));
  return found.in_step ? exitCodes.ok : exitCodes.failure;
}

/** `siteward device sync` and `siteward nvr sync`: 0 where the cloud knows them all then, else 1. */
export async function sync({
  json,
  socket,
  dryRun,
  again,
  registerLost,
  only,
}: Options & {
  readonly dryRun: boolean;
  readonly again: boolean;
  readonly registerLost: boolean;
  readonly only?: 'nvrs';
}): Promise<ExitCode> {
  await using control = openControl(socket);
  const answer = answered(
    await control.client.syncDevices({
      body: { dry_run: dryRun, again, register_lost: registerLost },
      ...cloudPatience(),
    }),
  );
  const result = devicesSynced.parse(answer.json);
  if (json) console.log(answer.text);
  else console.log((result.plan === undefined ? doneLines(result, only) : planned(result.plan, only)).join('\n'));
  const isInStep = result.plan?.in_step ?? (result.state === 'in_step' && result.held.length === 0);
  return isInStep ? exitCodes.ok : exitCodes.failure;
}

/** Of recorders alone. */
const planned = (found: DevicePlanShown, only: 'nvrs' | undefined): string[] =>
  planLines(only === undefined ? found : { ...found, create: [], update: [], unchanged: [], absent: [], zones: [] });

function doneLines({ done, held, state, reason }: DevicesSynced, only: 'nvrs' | undefined): string[] {
  const { created = [], updated = [], nvrs } = done ?? {};
  const devices = only === undefined ? [...rows('created', created), ...rows('changed', updated)] : [];
  const recorders = [
    ...rows('recorder created', nvrs?.created ?? []),
    ...rows('recorder changed', nvrs?.updated ?? []),
    ...(nvrs?.attached ?? []).map((one) => [
      'now of recorder',
      `${printable(one.external_nvr_id)}: ${one.devices.map(printable).join(', ')}`,
    ]),
  ];
  const all = [...devices, ...recorders];
  return [
    all.length === 0 ? 'nothing was to be told' : table(all),
    ...heldLines(held),
    state === 'in_step' && held.length === 0
      ? 'the cloud knows the devices of this site'
      : `NOT IN STEP: ${printable(reason ?? (held.length > 0 ? `${counted(held.length, 'device')} held` : 'see "siteward device plan"'))}`,
  ];
}

const rows = (what: string, ids: readonly string[]): string[][] =>
  ids.length === 0 ? [] : [[what, ids.map(printable).join(', ')]];

/** `siteward nvr list`. The interface lists no recorders: what is shown is what this bridge registered. */
export async function listNvrs({ json, socket }: Options): Promise<ExitCode> {
  await using control = openControl(socket);
  const answer = answered(await control.client.listCloudDevices({ signal: patience() }));
  const { items, state, reason } = cloudDeviceList.parse(answer.json);
  const recorders = items.filter(({ kind }) => kind === 'nvr');
  if (json) for (const one of recorders) console.log(JSON.stringify(one));
  else if (recorders.length === 0) console.log('the configuration has no recorders');
  else console.log(table(recorders.map(rowOf)));
  if (state !== 'in_step')
    console.error(`siteward: ${state.replaceAll('_', ' ')}${reason === undefined ? '' : `: ${reason}`}`);
  return exitCodes.ok;
}

const rowOf = ({ external_id, name, cloud_id, state, message = '' }: CloudDevice): string[] => [
  external_id,
  name ?? '',
  cloud_id ?? (state === 'unknown' ? 'nobody knows' : 'not there'),
  state,
  message,
];

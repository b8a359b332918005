import { heldAdvice } from '#box/held-advice.ts';
import type { DevicePlanShown } from '#lan/http/index.ts';
import { printable, table } from '../table.ts';

/** A plan for people: what is made, changed, left alone and why, and held with what to do. */
export function planLines(plan: DevicePlanShown): string[] {
  const { create, update, unchanged, absent, zones, nvrs, held } = plan;
  const counts = [
    [create.length + nvrs.create.length, 'to create'],
    [update.length + nvrs.update.length + nvrs.attach.length, 'to change'],
    [unchanged.length, 'as they are'],
    [held.length, 'held'],
    [absent.length, 'left alone'],
  ] as const;
  return [
    counts.map(([count, what]) => `${count} ${what}`).join(', '),
    ...section(
      'create',
      create.map((one) => [
        one.external_device_id,
        one.device_type,
        one.name ?? '',
        zonesSaid(one.zone_number, one.additional_zone_numbers),
      ]),
    ),
    ...section(
      'change',
      update.flatMap((one) => changeRows(one.external_device_id, one.changes)),
    ),
    ...section(
      'zone numbers another device of the cloud has',
      zones.map((one) => [one.external_device_id, `${one.wanted} is taken`, `${one.given} is given instead`]),
    ),
    ...section(
      'recorders to create',
      nvrs.create.map((one) => [one.external_nvr_id, one.name]),
    ),
    ...section(
      'recorders to change',
      nvrs.update.flatMap((one) => changeRows(one.external_nvr_id, one.changes)),
    ),
    ...section(
      'to be told to belong to a recorder',
      nvrs.attach.map((one) => [one.external_nvr_id, one.devices.join(', ')]),
    ),
    ...heldLines(held),
    ...section(
      'left alone: the cloud has them, this bridge has not; nothing is deleted by itself',
      absent.map((one) => [one.device_id, one.external_device_id ?? '', one.name ?? '']),
    ),
  ];
}

/** Each with what to do. */
export function heldLines(held: DevicePlanShown['held']): string[] {
  if (held.length === 0) return [];
  return [
    '',
    'held',
    ...held.flatMap(({ external_id, kind, reason, status, message }) => [
      `  ${printable(external_id)}${kind === 'nvr' ? ' (recorder)' : ''}: ${reason}${status === undefined ? '' : ` (${status})`}: ${printable(message)}`,
      `    ${heldAdvice[reason]}`,
    ]),
  ];
}

type Changes = DevicePlanShown['update'][number]['changes'];

const changeRows = (id: string, changes: Changes): string[][] =>
  Object.entries(changes).map(([member, { from, to }], index) => [
    index === 0 ? id : '',
    member,
    `${from === null || from === '' ? '(nothing)' : from} -> ${to === '' ? '(nothing)' : to}`,
  ]);

const zonesSaid = (zone: string, more: string | undefined): string =>
  `zone ${zone}${more === undefined || more === '' ? '' : `, further ${more}`}`;

const section = (title: string, rows: readonly (readonly string[])[]): string[] =>
  rows.length === 0 ? [] : ['', title, table(rows, '  ')];

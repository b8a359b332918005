import { z } from 'zod';
import { defineOperation } from '#lib/contract/operation.ts';
import type { Dialect } from './dialect.ts';
import { idNumber, must, record, text } from './fields.ts';
import { checkedRefusals, json, optionalJson, partner, siteParams, sitePath } from './partner.ts';
import { site } from './sites.ts';

/** Without the member, or without a body, the state is toggled; with it, it is set (S-071). */
export const activationChange = record({
  is_activated: z.literal([0, 1], { error: must('0 or 1') }).optional(),
});
export type ActivationChange = z.output<typeof activationChange>;

/** The specification shows no body for link and unlink; members of one that comes anyway mean nothing (S-073). */
export const linkChange = record({});

/** At least one of both; `null` clears the station (S-074). */
export const monitoringBindings = record({
  monitoring_station_id: idNumber().nullable().optional(),
  account_number: text().optional(),
}).refine(
  ({ monitoring_station_id, account_number }) => monitoring_station_id !== undefined || account_number !== undefined,
  'must hold monitoring_station_id or account_number',
);
export type MonitoringBindings = z.output<typeof monitoringBindings>;

const shared = { ...partner, tags: ['sites'], params: siteParams } as const;
const changed = { 200: { description: 'The site', schema: site } } as const;

/** A toggle must never be repeated blindly: read, send only if different, read again after a lost reply (S-072). */
const changeActivation = defineOperation({
  ...shared,
  id: 'changeActivation',
  method: 'PATCH',
  path: `${sitePath}/activation-status`,
  summary: 'Activate an inactive site, deactivate an active one',
  body: optionalJson(activationChange),
  responses: { 200: { description: 'The site with its new is_activated', schema: site }, ...checkedRefusals },
  repeatable: 'no',
  availability: 'ready for B',
  rules: ['S-071', 'S-072'],
});

const linkSite = defineOperation({
  ...shared,
  id: 'linkSite',
  method: 'PATCH',
  path: `${sitePath}/link`,
  summary: 'Link a site to the partner platform',
  body: optionalJson(linkChange),
  responses: { ...changed, ...checkedRefusals },
  repeatable: 'yes',
  availability: 'ready for B',
  rules: ['S-073'],
});

const unlinkSite = defineOperation({
  ...shared,
  id: 'unlinkSite',
  method: 'PATCH',
  path: `${sitePath}/unlink`,
  summary: 'Unlink a site from the partner platform',
  body: optionalJson(linkChange),
  responses: { ...changed, ...checkedRefusals },
  repeatable: 'yes',
  availability: 'ready for B',
  rules: ['S-073'],
});

const updateMonitoringBindings = defineOperation({
  ...shared,
  id: 'updateMonitoringBindings',
  method: 'PUT',
  path: `${sitePath}/monitoring-bindings`,
  summary: 'Bind a site to a monitoring station and an account number',
  body: json(monitoringBindings),
  responses: { ...changed, ...checkedRefusals },
  repeatable: 'yes',
  availability: 'only B',
  rules: ['S-064', 'S-074', 'S-075'],
});

export const siteLinkOperations = { changeActivation, linkSite, unlinkSite, updateMonitoringBindings } as const;

/** The body that asks for an activation in the given dialect; undefined sends none. */
export function activationBody(
  dialect: Pick<Dialect, 'activation_body'>,
  active: boolean,
): ActivationChange | undefined {
  if (dialect.activation_body === 'none') return undefined;
  return dialect.activation_body === 'empty_object' ? {} : { is_activated: active ? 1 : 0 };
}

/** The body of link and unlink in the given dialect; undefined sends none. */
export const linkBody = (dialect: Pick<Dialect, 'link_body'>): Record<string, never> | undefined =>
  dialect.link_body === 'none' ? undefined : {};

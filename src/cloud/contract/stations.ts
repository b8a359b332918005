import { z } from 'zod';
import { defineOperation } from '#lib/contract/operation.ts';
import { answerTime, id, pathId, record, requiredName, requiredText, text } from './fields.ts';
import { checkedRefusals, dealerParams, dealerPath, json, noContent, partner, refusals } from './partner.ts';

/** The specification shows no answer; the id has the name it has in the site record (S-101). */
export const monitoringStation = z.object({
  monitoring_station_id: id(),
  external_monitoring_station_id: z.string(),
  name: z.string(),
  prefix: z.string(),
  linecard: z.string(),
  created_at: answerTime(),
  updated_at: answerTime(),
});
export type MonitoringStation = z.output<typeof monitoringStation>;

export const monitoringStationCreate = record({
  external_monitoring_station_id: requiredText(),
  name: requiredName(),
  prefix: text().optional().describe('Put in front of account numbers.'),
  linecard: text().optional().describe('Hardware module that takes incoming lines.'),
});
export type MonitoringStationCreate = z.output<typeof monitoringStationCreate>;

/** The external id stays as it is (S-104). */
export const monitoringStationUpdate = monitoringStationCreate.omit({ external_monitoring_station_id: true }).partial();

const shared = { ...partner, tags: ['monitoring stations'] } as const;
const listPath = `${dealerPath}/monitoring-stations` as const;
const onePath = `${listPath}/{monitoringStationId}` as const;
const params = dealerParams.extend({ monitoringStationId: pathId() });

const createMonitoringStation = defineOperation({
  ...shared,
  id: 'createMonitoringStation',
  method: 'POST',
  path: listPath,
  summary: 'Create a monitoring station',
  params: dealerParams,
  body: json(monitoringStationCreate),
  responses: { 201: { description: 'The new monitoring station', schema: monitoringStation }, ...checkedRefusals },
  repeatable: 'no',
  rules: ['S-100', 'S-101', 'S-104'],
});

const listMonitoringStations = defineOperation({
  ...shared,
  id: 'listMonitoringStations',
  method: 'GET',
  path: listPath,
  summary: 'List the monitoring stations of a dealer',
  params: dealerParams,
  responses: { 200: { description: 'All of them', schema: z.array(monitoringStation) }, ...refusals },
  repeatable: 'yes',
  rules: ['S-019', 'S-093', 'S-101', 'S-102'],
});

const getMonitoringStation = defineOperation({
  ...shared,
  id: 'getMonitoringStation',
  method: 'GET',
  path: onePath,
  summary: 'Read a monitoring station',
  params,
  responses: { 200: { description: 'The monitoring station', schema: monitoringStation }, ...refusals },
  repeatable: 'yes',
  rules: ['S-101', 'S-102', 'S-103'],
});

const updateMonitoringStation = defineOperation({
  ...shared,
  id: 'updateMonitoringStation',
  method: 'PUT',
  path: onePath,
  summary: 'Change a monitoring station',
  params,
  body: json(monitoringStationUpdate),
  responses: { 200: { description: 'The updated monitoring station', schema: monitoringStation }, ...checkedRefusals },
  repeatable: 'yes',
  rules: ['S-101', 'S-102', 'S-104'],
});

const deleteMonitoringStation = defineOperation({
  ...shared,
  id: 'deleteMonitoringStation',
  method: 'DELETE',
  path: onePath,
  summary: 'Delete a monitoring station; sites bound to it lose their binding',
  params,
  responses: { ...noContent, ...refusals },
  repeatable: 'yes',
  rules: ['S-102', 'S-103', 'S-104'],
});

export const monitoringStationOperations = {
  createMonitoringStation,
  listMonitoringStations,
  getMonitoringStation,
  updateMonitoringStation,
  deleteMonitoringStation,
} as const;

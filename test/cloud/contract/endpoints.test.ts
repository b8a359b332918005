import { describe, expect, it } from 'vitest';
import {
  audioOperations,
  cloudOperations,
  eventOperations,
  partnerOperations,
  publicOperations,
  tokenOperations,
} from '#cloud/contract/index.ts';
import type { Availability, Operation } from '#lib/contract/operation.ts';

const dealer = '/partner/v1/dealers/{dealerId}';
const site = `${dealer}/sites/{siteId}`;
const verification = `${site}/alarm-verifications/{verificationId}`;

type Row = readonly [endpoint: string, tag: Availability | undefined];

/** The tables of sections 4.1 to 4.11 of the specification, written by hand. */
const partnerRows: readonly Row[] = [
  ['PUT /partner/v1/dealers/connect', 'only A'],
  [`PUT ${dealer}/disconnect`, 'only A'],
  [`GET ${dealer}`, 'only A'],
  [`PUT ${dealer}`, 'ready for B'],
  [`POST ${dealer}/sites`, 'ready for B'],
  [`GET ${dealer}/sites`, 'ready for B'],
  [`GET ${site}`, 'ready for B'],
  [`PUT ${site}`, 'ready for B'],
  [`DELETE ${site}`, 'ready for B'],
  [`PATCH ${site}/activation-status`, 'ready for B'],
  [`PATCH ${site}/link`, 'ready for B'],
  [`PATCH ${site}/unlink`, 'ready for B'],
  [`PUT ${site}/monitoring-bindings`, 'only B'],
  [`POST ${dealer}/monitoring-stations`, undefined],
  [`GET ${dealer}/monitoring-stations`, undefined],
  [`GET ${dealer}/monitoring-stations/{monitoringStationId}`, undefined],
  [`PUT ${dealer}/monitoring-stations/{monitoringStationId}`, undefined],
  [`DELETE ${dealer}/monitoring-stations/{monitoringStationId}`, undefined],
  [`POST ${site}/contacts`, undefined],
  [`GET ${site}/contacts`, undefined],
  [`GET ${site}/contacts/{contactId}`, undefined],
  [`PUT ${site}/contacts/{contactId}`, undefined],
  [`DELETE ${site}/contacts/{contactId}`, undefined],
  [`POST ${site}/devices`, 'only A'],
  [`GET ${site}/devices`, 'ready for B'],
  [`GET ${site}/devices/{deviceId}`, 'ready for B'],
  [`PUT ${site}/devices`, 'ready for B'],
  [`POST ${site}/devices/bulk-delete`, 'ready for B'],
  [`GET ${site}/arming-settings`, 'ready for B'],
  [`PATCH ${site}/arming-settings`, 'ready for B'],
  [`POST ${site}/nvrs`, 'ready for B'],
  [`PATCH ${site}/nvrs/{nvrId}`, 'ready for B'],
  [`POST ${site}/nvrs/{nvrId}/devices`, 'ready for B'],
  [`GET ${site}/arming-status`, 'ready for B'],
  [`PUT ${site}/arming-status`, 'ready for B'],
  [`GET ${site}/activity-logs`, 'only A'],
  [`PATCH ${verification}`, undefined],
  [`POST ${verification}/response`, undefined],
];

const audioRows: readonly Row[] = [
  ['GET /ext/v1/sites/{site_id}/audio-messages', undefined],
  ['POST /ext/v1/sites/{site_id}/audio-messages/{audio_message_id}/play', undefined],
  ['GET /ref/v1/sites/{account_reference_id}/audio-messages', undefined],
  ['POST /ref/v1/sites/{account_reference_id}/audio-messages/{audio_message_id}/play', undefined],
];

/** Section 4.12 names the first path; the others follow it by analogy. */
const publicRows: readonly Row[] = [
  ['POST /v1/partitions/{partition_id}/arm', undefined],
  ['POST /v1/partitions/{partition_id}/disarm', undefined],
  ['POST /v1/partitions/{partition_id}/bypass', undefined],
  ['GET /v1/partitions/{partition_id}', undefined],
  ['POST /v1/devices/{device_id}/snapshot', undefined],
  ['POST /v1/sites/{site_id}/dispatch', undefined],
  ['GET /v1/sites/{site_id}/audit-log', undefined],
];

const groups: readonly [name: string, operations: Readonly<Record<string, Operation>>, rows: readonly Row[]][] = [
  ['partner', partnerOperations, partnerRows],
  ['event', eventOperations, [['POST /partner/v1/events', undefined]]],
  ['audio', audioOperations, audioRows],
  ['public', publicOperations, publicRows],
  [
    'token',
    tokenOperations,
    [
      ['POST /oauth/token', undefined],
      ['POST /oauth/token', undefined],
    ],
  ],
];

const all: readonly Operation[] = Object.values(cloudOperations);
const sorted = (rows: readonly Row[]) => rows.map(([endpoint, tag]) => `${endpoint} ${tag ?? 'untagged'}`).sort();

describe('the endpoint tables of the specification', () => {
  it.each(groups)(
    '%s: every row has exactly one operation with its tag, and no operation is beside them',
    (...group) => {
      const [, operations, rows] = group;
      const described = Object.values(operations).map((one): Row => [`${one.method} ${one.path}`, one.availability]);
      expect(sorted(described)).toEqual(sorted(rows));
    },
  );

  it('are covered by the groups: 52 operations with both token grants', () => {
    const grouped = groups.flatMap(([, operations]) => Object.keys(operations));
    expect(grouped.sort()).toEqual(Object.keys(cloudOperations).sort());
    expect(grouped).toHaveLength(52);
  });
});

describe('every operation', () => {
  it('is filed under its own id', () => {
    expect(Object.entries(cloudOperations).filter(([key, operation]) => key !== operation.id)).toEqual([]);
  });

  it('has one base address, method and path of its own', () => {
    const keys = all.map(({ base, method, path }) => `${base} ${method} ${path}`);
    expect(new Set(keys).size).toBe(keys.length);
  });

  it('describes each place of its path', () => {
    const wrong = all.filter(({ path, params }) => {
      const places = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
      return (
        places.sort().join() !==
        Object.keys(params?.shape ?? {})
          .sort()
          .join()
      );
    });
    expect(wrong.map((operation) => operation.id)).toEqual([]);
  });

  it('stands before any other whose place would swallow its word', () => {
    const ids = Object.keys(cloudOperations);
    expect(ids.indexOf('connectDealer')).toBeLessThan(ids.indexOf('updateDealer'));
  });

  it('takes the credential of its interface, and connecting a dealer one bound to a user', () => {
    const kinds = (operations: Readonly<Record<string, Operation>>) =>
      [...new Set(Object.values(operations).map((operation) => operation.auth.join()))].sort();
    const { connectDealer, ...others } = partnerOperations;
    expect(kinds(others)).toEqual(['partner']);
    expect(connectDealer.auth).toEqual(['user']);
    expect(kinds(audioOperations)).toEqual(['api_key']);
    expect(kinds(publicOperations)).toEqual(['api_key']);
    expect(kinds(eventOperations)).toEqual(['event']);
  });

  it('is never repeated blindly where it creates, toggles, plays or commands (S-072, S-177, S-196)', () => {
    const careful = all.filter((operation) => operation.repeatable === 'no').map((operation) => operation.id);
    expect(careful.sort()).toEqual(
      [
        ...['createSite', 'createMonitoringStation', 'createContact', 'createDevices', 'deleteDevices', 'createNvr'],
        ...['addNvrDevices', 'changeActivation', 'respondVerification', 'playAudioMessage', 'jwtBearerToken'],
        ...['playReferencedAudioMessage', 'armPartition', 'disarmPartition', 'bypassZones', 'captureSnapshot'],
        ...['dispatchResponder'],
      ].sort(),
    );
  });

  it('may be sent again when it reads, replaces or deletes (S-196)', () => {
    const plain = all.filter(({ method }) => method === 'GET' || method === 'PUT' || method === 'DELETE');
    expect(plain.filter((operation) => operation.repeatable !== 'yes').map((operation) => operation.id)).toEqual([]);
  });

  it('answers a creation with 201, a deletion with 204 and no body, everything else with 200 or 202', () => {
    const success = (operation: Operation) =>
      Object.keys(operation.responses)
        .filter((status) => status < '300')
        .join();
    const created = all.filter((operation) => success(operation) === '201').map((operation) => operation.id);
    expect(created.sort()).toEqual([
      'createContact',
      'createDevices',
      'createMonitoringStation',
      'createNvr',
      'createSite',
    ]);
    const gone = all.filter((operation) => success(operation) === '204');
    expect(gone.map((operation) => operation.method)).toEqual(['DELETE', 'DELETE', 'DELETE']);
    expect(gone.every((operation) => operation.responses[204]?.schema === undefined)).toBe(true);
    expect(all.filter((one) => one.method === 'DELETE')).toHaveLength(gone.length);
    expect(all.filter((one) => success(one) === '202').map((one) => one.id)).toEqual(['dispatchResponder']);
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cloudOperations } from '#cloud/contract/index.ts';
import { SitewardError } from '#errors.ts';
import type { Operation } from '#lib/contract/operation.ts';
import { changes, inputOf, memberTwice, pathsIn, replaced, successOf } from './example.ts';
import { answer, rig, type Scripted } from './harness.ts';

const { signal } = new AbortController();
const operations = Object.values(cloudOperations) as readonly Operation[];

/** The functions a caller has: the safe forms where there are some. */
function callOf({ id }: Operation, manage: ReturnType<typeof rig>['manage']): (input: never) => Promise<unknown> {
  const safe: Record<string, (input: never) => Promise<unknown>> = {
    changeActivation: (input: { params: { dealerId: string; siteId: string } }) =>
      manage.setActivation({ ...input, active: true, signal }),
    createDevices: (input: { params: never; body: never[] }) =>
      manage.createDevices({ ...input, items: input.body, signal }),
    updateDevices: (input: { params: never; body: never[] }) =>
      manage.updateDevices({ ...input, items: input.body, signal }),
    deleteDevices: (input: { params: never }) => manage.deleteDevices({ ...input, items: ['7'], signal }),
    addNvrDevices: (input: { params: never }) => manage.addNvrDevices({ ...input, items: ['7'], signal }),
  };
  return safe[id] ?? (manage as unknown as Record<string, (input: never) => Promise<unknown>>)[id]!;
}

/** Calls the operation against a service that always answers so; gives the error, if there is one. */
async function failing(operation: Operation, scripted: Scripted): Promise<unknown> {
  const { manage } = rig(() => answer(scripted));
  try {
    await callOf(operation, manage)(inputOf(operation, signal) as never);
    return undefined;
  } catch (error) {
    return error;
  }
}

/** A typed error of the cloud, or none. */
function expectTyped(error: unknown): void {
  if (error === undefined) return;
  expect(error).toBeInstanceOf(SitewardError);
  expect((error as SitewardError).code).toMatch(/^cloud_/);
}

describe.each(operations.map((operation) => [operation.id, operation] as const))('%s', (_, operation) => {
  const success = successOf(operation);

  it('takes the described answer', async () => {
    expect(await failing(operation, success)).toBeUndefined();
  });

  it('survives every member removed, retyped, doubled and wrapped', async () => {
    for (const path of pathsIn(success.body)) {
      for (const change of Object.values(changes)) {
        expectTyped(await failing(operation, { ...success, body: replaced(success.body, path, change) }));
      }
    }
    expectTyped(await failing(operation, { ...success, text: memberTwice(JSON.stringify(success.body) ?? '') }));
  });

  it('survives any status with any body', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(200, 201, 202, 204, 301, 400, 401, 403, 404, 409, 418, 429, 500, 503),
        fc.oneof(fc.json(), fc.string(), fc.constant('<html>log in</html>'), fc.constant('')),
        async (status, text) => expectTyped(await failing(operation, { status, text })),
      ),
      { numRuns: 40 },
    );
  });
});

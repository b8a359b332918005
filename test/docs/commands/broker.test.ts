import { afterAll, beforeAll } from 'vitest';
import { accounts, type BrokerSite, startBrokerSite } from './broker.ts';
import { runRows } from './line.ts';

let stage: BrokerSite;
beforeAll(async () => {
  stage = await startBrokerSite();
}, 120_000);
afterAll(() => stage?.close());

runRows(accounts, () => stage);

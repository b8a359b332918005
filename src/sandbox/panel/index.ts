export type { ArmedState, CurrentState, PartitionOptions, ZoneOptions } from './alarm.ts';
export type { BrokerLogin } from './bridge.ts';
export { type PaiOptions, type SimPanel, startPaiPanel } from './pai.ts';
export { type SimSensors, startZigbeeSensors, type ZigbeeDevice } from './zigbee.ts';

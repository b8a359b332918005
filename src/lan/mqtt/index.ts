export { type AclClient, mosquittoAcl } from './acl.ts';
export { type Broker, type BrokerOptions, createBroker, isLoopback } from './broker.ts';
export type { BrokerUser } from './broker-auth.ts';
export type { CommandSender } from './commands.ts';
export type { HaOptions } from './home-assistant.ts';
export { createLanMqtt, type LanMqtt, type LanMqttOptions } from './lan-mqtt.ts';
export type { SitePort } from './site-port.ts';
export { withoutCode } from './stray-code.ts';
export { type Role, roles, rootOf, siteSlug, type TopicSpec, topicTable } from './table.ts';

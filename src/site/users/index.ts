export { scryptHash } from './hashing.ts';
export {
  type CodeVerdict,
  type ConfiguredUser,
  type ListedUser,
  maxUsers,
  type NewUser,
  type UserRecord,
  type Users,
} from './types.ts';
export { createUsers, type UsersOptions } from './users.ts';

/**
 * Which role may use which tool (`access.roles.<role>.tools`). Decided when a call runs, by the role of the turn's speaker: the list of tools
 * is the same for everyone in a session.
 */
import type { Role } from "../domain/identity.js";

export type RoleTools = { readonly [Name in Role]: { readonly tools: readonly string[] } };

/**
 * True when the patterns allow the tool. The last pattern that fits decides: `*` every tool, `builtin` those that are not from outside, `name`,
 * `beginning*`; `!` in front takes away. What no pattern fits is not allowed.
 */
export function mayUse(patterns: readonly string[], tool: { readonly name: string; readonly isBuiltin: boolean }): boolean {
  let allowed = false;
  for (const pattern of patterns) {
    const takes = pattern.startsWith("!");
    if (fits(takes ? pattern.slice(1) : pattern, tool)) allowed = !takes;
  }
  return allowed;
}

function fits(pattern: string, { name, isBuiltin }: { readonly name: string; readonly isBuiltin: boolean }): boolean {
  if (pattern === "builtin") return isBuiltin;
  return pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
}

/** The denial for the model to read, or undefined. */
export function toolDenial(roles: RoleTools, role: Role, tool: { readonly name: string; readonly isBuiltin: boolean }): string | undefined {
  if (mayUse(roles[role].tools, tool)) return undefined;
  return `The one who speaks is a ${role} here and may not use ${tool.name}. Say so if it matters; an operator of this bot can allow it.`;
}

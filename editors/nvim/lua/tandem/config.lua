--- What a person can set. Everything else reads it through `get`.
local M = {}

---@class tandem.Field
---@field type string|string[]
---@field default any
---@field description string

--- Every setting: `:help tandem-settings` describes the same ones, and a test holds the two together.
---@type table<string, tandem.Field>
M.schema = {
  binary = {
    type = 'string',
    default = 'tandem',
    description = 'The server: a name found in $PATH, or a path.',
  },
  env = {
    type = 'table',
    default = {},
    description = 'Environment variables for the server besides those of Neovim.',
  },
  settings = {
    type = 'table',
    default = {},
    description = 'The configuration of the server: model, mode, permissions, …',
  },
  resume = {
    type = 'boolean',
    default = true,
    description = 'Whether to resume the last session of the folder when the server starts.',
  },
  root_markers = {
    type = 'table',
    default = { '.tandem', '.git' },
    description = 'Files that mark the root of a workspace, searched upwards from the file.',
  },
  chat_position = {
    type = 'string',
    default = 'right',
    description = 'Where the chat opens: right, left, above or below.',
  },
  chat_size = {
    type = 'number',
    default = 0.4,
    description = 'The share of the screen that the chat takes.',
  },
  share_editor = {
    type = 'boolean',
    default = true,
    description = 'Tell the model with every prompt which file is in front of you, where the cursor is, and what else is open.',
  },
  ask_idle_ms = {
    type = 'number',
    default = 400,
    description = 'A question takes the keyboard when no key was pressed for so long, in Normal mode.',
  },
}

local set = {} ---@type table<string, any>

---@param options table<string, any>
local function check(options)
  for name, value in pairs(options) do
    local field = M.schema[name]
    if not field then
      error(('tandem: there is no setting %q; see :help tandem-settings'):format(name), 0)
    end
    if type(value) ~= field.type then
      error(('tandem: the setting %s is a %s, not a %s'):format(name, field.type, type(value)), 0)
    end
  end
end

--- Settings from Lua; they come before those of `vim.g.tandem`.
---@param options? table<string, any>
function M.set(options)
  check(options or {})
  set = options or {}
end

--- The settings now in force. Raises an error, worded for a person, where one of them is wrong.
---@return table<string, any>
function M.get()
  local global = vim.g.tandem or {}
  check(global)
  local settings = {}
  for name, field in pairs(M.schema) do
    settings[name] = vim.F.if_nil(set[name], global[name], field.default)
  end
  return settings
end

return M

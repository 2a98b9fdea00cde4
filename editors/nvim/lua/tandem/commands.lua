--- The words of :Tandem. What is none of them is what the agent is asked.
local M = {}

---@class tandem.Command
---@field run fun(argument?: string, range?: {[1]: integer, [2]: integer})
---@field arguments? string[]|fun(): string[] one of them may follow

---@param field string
---@param key string
---@return fun(): string[]
local function choices(field, key)
  return function()
    local instance = require('tandem.client').current(vim.api.nvim_get_current_buf())
    return vim.tbl_map(function(choice)
      return choice[key]
    end, instance and instance[field] or {})
  end
end

---@param name string
---@return fun(argument?: string)
local function call(name)
  return function(argument)
    require('tandem')[name](argument)
  end
end

---@type table<string, tandem.Command>
M.commands = {
  accept = { run = call('accept'), arguments = { 'file', 'all' } },
  reject = { run = call('reject'), arguments = { 'file', 'all' } },
  next = { run = call('next') },
  prev = { run = call('prev') },
  diff = { run = call('diff'), arguments = { 'all', 'split' } },
  changes = { run = call('changes') },
  undo = { run = call('undo') },
  stop = { run = call('cancel') },
  new = { run = call('new') },
  answer = { run = call('answer') },
  mode = { run = call('mode'), arguments = choices('modes', 'id') },
  model = { run = call('model'), arguments = choices('models', 'modelId') },
  quit = { run = call('quit') },
  ask = {
    run = function(_, range)
      require('tandem').prompt(range)
    end,
  },
}

---@param command tandem.Command
---@return string[]
local function arguments(command)
  local list = command.arguments or {}
  return type(list) == 'function' and list() or list
end

--- Carries out what stands after :Tandem.
---@param text string
---@param range? {[1]: integer, [2]: integer}
function M.run(text, range)
  local word, rest = text:match('^(%l+)%s*(.-)%s*$')
  local command = M.commands[word]
  if command and (rest == '' or (not rest:find('%s') and vim.list_contains(arguments(command), rest))) then
    return command.run(rest ~= '' and rest or nil, range)
  elseif word == 'ask' then
    text = rest
  end
  require('tandem').ask(text, range)
end

---@param lead string
---@param line string
---@return string[]
function M.complete(lead, line)
  local words = vim.split(line:match('Tan%l*%s+(.*)$') or '', '%s+')
  local list = {}
  if #words <= 1 then
    list = vim.tbl_keys(M.commands)
  elseif #words == 2 and M.commands[words[1]] then
    list = arguments(M.commands[words[1]])
  end
  list = vim.tbl_filter(function(word)
    return vim.startswith(word, lead)
  end, list)
  table.sort(list)
  return list
end

return M

--- The words of :Tandem. What is none of them is what the agent is asked.
local M = {}

---@class tandem.Command
---@field run fun(argument?: string, range?: {[1]: integer, [2]: integer})
---@field arguments? string[]|fun(): string[] one of them may follow
---@field any? boolean so may another word

--- The modes, before a session names them.
M.MODES = { 'readOnly', 'plan', 'ask', 'acceptEdits', 'auto' }

---@param field string
---@param key string
---@param before? string[] those where there is no session yet
---@return fun(): string[]
local function choices(field, key, before)
  return function()
    local instance = require('tandem.client').current(vim.api.nvim_get_current_buf())
    return instance and instance[field] and vim.tbl_map(function(choice)
      return choice[key]
    end, instance[field]) or before or {}
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
  sessions = { run = call('sessions') },
  permissions = { run = call('permissions') },
  plans = { run = call('plans') },
  jobs = { run = call('jobs') },
  answer = { run = call('answer') },
  mode = { run = call('mode'), arguments = choices('modes', 'id', M.MODES) },
  model = { run = call('model'), arguments = choices('models', 'modelId'), any = true },
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

--- What is wrong with the words behind a command; nil where nothing is.
---@param word string
---@param rest string
---@return string?
local function wrong(word, rest)
  local command = M.commands[word]
  local list = arguments(command)
  if rest == '' or vim.list_contains(list, rest) or (command.any and not rest:find('%s')) then
    return nil
  end
  if #list > 0 and not command.any then
    return (':Tandem %s takes one of %s'):format(word, table.concat(list, ', '))
  end
  return (':Tandem %s takes %s; :Tandem ask %s … asks'):format(word, command.any and 'one word' or 'nothing more', word)
end

--- Carries out what stands after :Tandem. What begins with the word of a command is that command; only what does not goes
--- to the agent.
---@param text string
---@param range? {[1]: integer, [2]: integer}
function M.run(text, range)
  local word, rest = text:match('^%s*(%S*)%s*(.-)%s*$')
  local command = M.commands[word]
  if not command then
    return require('tandem').ask(text, range)
  elseif word == 'ask' and rest ~= '' then
    return require('tandem').ask(rest, range)
  end
  local problem = wrong(word, rest)
  if problem then
    return require('tandem.chat').tell(problem, vim.log.levels.ERROR)
  end
  command.run(rest ~= '' and rest or nil, range)
end

---@param lead string
---@param line string
---@return string[]
function M.complete(lead, line)
  if lead:find('^@') then
    return require('tandem.mentions').now(lead)
  end
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

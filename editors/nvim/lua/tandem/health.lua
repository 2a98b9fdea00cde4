--- `:checkhealth tandem`
local visible = require('tandem.visible')

local M = {}

--- One line that says how a folder is searched.
---@param root tandem.SearchedRoot
---@return string
function M.searches(root)
  local how
  if root.state == 'ready' then
    local size = math.max(1, math.floor((root.bytes or 0) / 2 ^ 20 + 0.5))
    how = ('with an index of %d files (%d MiB)'):format(root.files or 0, size) .. (root.reason and '; ' .. root.reason or '')
  elseif root.state == 'building' then
    how = ('an index of %d files is being built'):format(root.files or 0)
  else
    how = 'without an index' .. (root.reason and (' (%s)'):format(root.reason) or '')
  end
  return visible.line(('searches of %s: %s'):format(root.root, how))
end

---@param instance tandem.Instance
local function check_server(instance)
  local health = vim.health
  local status = instance:status(2000)
  if not status then
    return health.error(('the server of %s does not answer'):format(instance.root), { ':Tandem quit ends it' })
  end
  health.ok(('%s: session %s, %d open documents'):format(instance.root, instance.session or 'none', status.documents))
  if instance.model == 'script/embedded' then
    health.warn('no language model is configured: a scripted demo answers', { 'See :help tandem-model' })
  else
    health.ok(('model %s, mode %s'):format(instance.model or 'unknown', instance.mode or 'unknown'))
  end
  for _, problem in ipairs(status.config or {}) do
    health.warn('configuration: ' .. problem)
  end
  if status.sandbox.level == 'none' then
    health.info(('commands run without a sandbox (%s): you are asked before each'):format(status.sandbox.reason))
  else
    health.ok('sandbox: ' .. status.sandbox.level)
  end
  if status.watcher ~= 'on' then
    health.info('changes of files on disk are not watched: ' .. status.watcher)
  end
  for _, root in ipairs(status.searched or {}) do
    health.info(M.searches(root))
  end
end

function M.check()
  local health = vim.health
  health.start('tandem')
  if vim.fn.has('nvim-0.10') == 0 then
    health.error('Neovim 0.10 or later is needed')
    return
  end
  health.ok('Neovim ' .. tostring(vim.version()))
  local ok, config = pcall(require('tandem.config').get)
  if not ok then
    health.error(tostring(config))
    return
  end
  if vim.fn.executable(config.binary) == 0 then
    health.error(('%q is not a program'):format(config.binary), { 'Install tandem, or set vim.g.tandem.binary' })
    return
  end
  local result = vim.system({ config.binary, 'version' }, { text = true }):wait(5000)
  if result.code == 0 then
    health.ok(('%s: %s'):format(vim.fn.exepath(config.binary), vim.split(vim.trim(result.stdout), '\n')[1]))
  else
    health.error(('%s does not run: %s'):format(config.binary, vim.trim(result.stderr or '')))
  end
  if not pcall(vim.treesitter.language.add, 'markdown') then
    health.info('no treesitter parser for markdown: the chat is shown without highlights')
  end
  health.start('tandem: servers')
  local client = package.loaded['tandem.client']
  local instances = client and client.all() or {}
  if #instances == 0 then
    health.info('none runs; :Tandem starts one')
  end
  for _, instance in ipairs(instances) do
    if instance.session then
      check_server(instance)
    end
  end
end

return M

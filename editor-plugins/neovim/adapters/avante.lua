-- acp-adapter in avante.nvim: put this into your init.lua. Then :AvanteAsk asks it.
-- `acp-adapter setup --editor avante` prints the same with the full path of your installation.
require("avante").setup({
  provider = "acp-adapter",
  acp_providers = {
    ["acp-adapter"] = { command = "acp-adapter", args = {} },
  },
})

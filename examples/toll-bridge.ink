# title: The Toll Bridge
VAR coins = 2
VAR goat = false

-> road

=== road
The river is wide, and the bridge has a keeper. You have {coins} coin{coins != 1:s}. {~A heron waits.|A kingfisher passes.}
+ {coins > 0 && coins < 4} [Play dice with the keeper.] -> dice
* {coins > 0} [Buy the goat of a drover.]
    ~ goat = true
    ~ coins = coins - 1
    It looks at the bridge as if it knew it.
    -> road
+ {coins >= 3} [Pay the toll of three coins.] -> over
+ {goat} [Let the goat go first.] -> goat_first
+ [Wade.] -> river

=== dice
~ temp roll = RANDOM(1, 6)
You throw a {roll}.
{ roll >= 4:
    ~ coins = coins + 1
    The keeper pays.
- else:
    ~ coins = coins - 1
    The keeper is sorry for you, and takes it.
}
-> road

=== goat_first
The keeper steps aside. People do.
-> over

=== over
You are on the other side, with {coins} coin{coins != 1:s} and {goat:a goat|dry feet}.
-> END

=== river
{RANDOM(1, 2) == 1: It reaches to your knees, and no further. -> over}
It takes you two miles down, and one shoe further. You begin again tomorrow.
-> END
